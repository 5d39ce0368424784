"""Templates of the form: functions from the words of a table to (word, feature, value) rows.

One that reads `letters` has nothing to say of unknown words, which have none yet.
"""

import numpy as np
import pandas as pd

from accord.pipeline.features import TEMPLATES
from accord.pipeline.features.rows import rows
from accord.pipeline.prepared.special_words import NOT_TOP, read_as_unknown

SHAPE = (
    (r"\d+", "0"),
    (r"[A-ZÀ-ÖØ-ÞŒ]+", "X"),
    (r"[^\W\dX_]+", "x"),
)


@TEMPLATES.register("form")
def form(params, types: pd.DataFrame) -> pd.DataFrame:
    """A feature of its own for each of the M most frequent words, @notTop for the others.

    A word that training reads as unknown has none.
    """
    seen = (types["count"] > (1 if params.forms is None else 0)) & ~read_as_unknown(types)
    top = seen & (np.arange(len(types)) < (len(types) if params.forms is None else params.forms))
    return rows(types.index, ("form=" + types["form"]).where(top, NOT_TOP))


@TEMPLATES.register("suffix", letters=True)
def suffix(params, types: pd.DataFrame) -> pd.DataFrame:
    """The last three letters."""
    return rows(types.index, "suffix=" + types["form"].str[-3:])


@TEMPLATES.register("shape", letters=True)
def shape(params, types: pd.DataFrame) -> pd.DataFrame:
    """Capitals as X, other letters as x, digits as 0, runs shortened: `XIVe` is Xx, `1999` is 0."""
    shape = types["form"]
    for pattern, sign in SHAPE:
        shape = shape.str.replace(pattern, sign, regex=True)
    return rows(types.index, "shape=" + shape)


@TEMPLATES.register("number-class", letters=True)
def number_class(params, types: pd.DataFrame) -> pd.DataFrame:
    """The paper's example: small numbers, year-like numbers, and the size of any number."""
    # `int` reads the digits of every script, as `\d` finds them.
    value = types["form"][types["form"].str.fullmatch(r"\d{1,15}")].map(int).astype(np.int64)
    small, year = value[value <= 31], value[(value >= 1000) & (value <= 2100)]
    return pd.concat(
        [
            rows(small.index, "number=small"),
            rows(year.index, "number=year"),
            rows(value.index, "number=log10", np.log10(1 + value.to_numpy()).round()),
        ]
    )


@TEMPLATES.register("frequency")
def frequency(params, types: pd.DataFrame) -> pd.DataFrame:
    """How common French as a whole finds the word: half powers of ten per million, or unknown."""
    if "frequency" not in types:
        raise ValueError(
            "featurise.templates: frequency needs a lexicon that has frequencies, "
            "such as analyse.frequency: lexique"
        )
    with np.errstate(divide="ignore"):
        level = np.floor(2 * np.log10(types["frequency"].to_numpy()))
    known = np.isfinite(level)
    names = np.where(known, np.where(known, level, 0).astype(int).astype(str), "unknown")
    return rows(types.index, "frequency=" + pd.Series(names, index=types.index))
