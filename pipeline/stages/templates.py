"""Feature templates: from words and their analyses to (word, feature, value) rows.

A template of the lexicon reads one field of each analysis (`gender` gives `Gender=Fem`), a
crossed one several at once (`pos×gender` gives `pos=NOUN×Gender=Fem`), a template of the form
reads the word's letters. The value of a lexicon feature is the weight of the analyses that carry
it: at most 1 for their union, their share of all for the weighted kind.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pandas as pd

from lexicon.analysis import FEATURES, feature_names
from pipeline.display.nearest import nearest
from pipeline.prepared.special_words import END, is_unknown, read_as_unknown
from pipeline.stages.template_names import chosen

SHAPE = (
    (r"\d+", "0"),
    (r"[A-ZÀ-ÖØ-ÞŒ]+", "X"),
    (r"[^\W\dX_]+", "x"),
)


def fill(
    params,
    types: pd.DataFrame,
    analyses: pd.DataFrame,
    computed: Mapping[str, pd.DataFrame] = MappingProxyType({}),
) -> pd.DataFrame:
    """The rows of all templates, sorted by word and feature, one row each.

    The rows of templates that need more than this, those of vectors and clusters, are handed in.
    """
    end = types.index[types["form"] == END]
    unwritten = types.index[types["form"].map(is_unknown)]  # these have no letters yet
    parts = [_rows(end, "form=" + types["form"].loc[end]).assign(template=END)]
    names = known_names(analyses)
    for template in dict.fromkeys([*chosen(params, names), *computed]):
        if template in computed:
            filled = computed[template]
        elif template in OF_FORM:
            filled = OF_FORM[template](params, types)
        else:
            filled = _of_analyses(template, names, params, types, analyses)
        without = end.union(unwritten) if template in OF_LETTERS else end
        parts.append(filled[~filled["word"].isin(without)].assign(template=template))
    table = _left(pd.concat(parts, ignore_index=True), params.without)
    table["feature"] = table["feature"].astype("category")
    return table.sort_values(["word", "feature"], kind="stable", ignore_index=True)


def _left(table: pd.DataFrame, without: Sequence[str]) -> pd.DataFrame:
    """The rows without the single features, such as `PronType=Art`, that are left out."""
    left_out = {name.lower() for name in without if "=" in name}
    if not left_out:
        return table
    distinct = pd.Series(table["feature"].unique())
    held = distinct.str.lower().str.split("×").map(left_out.intersection)
    for name in sorted(left_out.difference(*held)):
        raise ValueError(f"featurise.without: no word has '{name}'{nearest(name, distinct)}")
    return table[~table["feature"].isin(distinct[held.map(bool)])]


def known_names(analyses: pd.DataFrame) -> list[str]:
    """The names of the features that these analyses have, or others may have."""
    return sorted({*FEATURES, *feature_names(analyses["feats"].astype("category").cat.categories)})


def _rows(words, features, values=1.0) -> pd.DataFrame:
    return pd.DataFrame({"word": np.asarray(words), "feature": features, "value": values})


def _form(params, types: pd.DataFrame) -> pd.DataFrame:
    """A feature of its own for each of the M most frequent words, @notTop for the others.

    A word that training reads as unknown has none.
    """
    seen = (types["count"] > (1 if params.forms is None else 0)) & ~read_as_unknown(types)
    top = seen & (np.arange(len(types)) < (len(types) if params.forms is None else params.forms))
    return _rows(types.index, ("form=" + types["form"]).where(top, "@notTop"))


def _suffix(params, types: pd.DataFrame) -> pd.DataFrame:
    """The last three letters."""
    return _rows(types.index, "suffix=" + types["form"].str[-3:])


def _shape(params, types: pd.DataFrame) -> pd.DataFrame:
    """Capitals as X, other letters as x, digits as 0, runs shortened: `XIVe` is Xx, `1999` is 0."""
    shape = types["form"]
    for pattern, sign in SHAPE:
        shape = shape.str.replace(pattern, sign, regex=True)
    return _rows(types.index, "shape=" + shape)


def _number_class(params, types: pd.DataFrame) -> pd.DataFrame:
    """The paper's example: small numbers, year-like numbers, and the size of any number."""
    # `int` reads the digits of every script, as `\d` finds them.
    value = types["form"][types["form"].str.fullmatch(r"\d{1,15}")].map(int).astype(np.int64)
    small, year = value[value <= 31], value[(value >= 1000) & (value <= 2100)]
    return pd.concat(
        [
            _rows(small.index, "number=small"),
            _rows(year.index, "number=year"),
            _rows(value.index, "number=log10", np.log10(1 + value.to_numpy()).round()),
        ]
    )


def _frequency(params, types: pd.DataFrame) -> pd.DataFrame:
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
    return _rows(types.index, "frequency=" + pd.Series(names, index=types.index))


OF_FORM: dict[str, Callable] = {
    "form": _form,
    "suffix": _suffix,
    "shape": _shape,
    "number-class": _number_class,
    "frequency": _frequency,
}
OF_LETTERS = ("suffix", "shape", "number-class")


def _of_analyses(template: str, names, params, types, analyses: pd.DataFrame) -> pd.DataFrame:
    fields = [_field(name, names, params, types, analyses) for name in template.split("×")]
    feature = fields[0]
    for other in fields[1:]:
        feature = feature.str.cat(other, sep="×")  # null where one of them is
    table = _rows(analyses["word"], feature, analyses["weight"].astype(float)).dropna()
    of_feature = table.groupby(["word", "feature"], sort=False, observed=True)["value"]
    table = of_feature.sum().reset_index()
    if params.values == "weighted":
        total = analyses.groupby("word")["weight"].sum()
        table["value"] /= table["word"].map(total)
    table["value"] = (table["value"].clip(upper=1.0) * params.steps).round() / params.steps
    return table[table["value"] > 0]


def _field(
    name: str, names: Sequence[str], params, types: pd.DataFrame, analyses: pd.DataFrame
) -> pd.Series:
    """The feature that each analysis gives this template, null where it gives none."""
    if name == "pos":
        return "pos=" + analyses["upos"].astype(str)
    if name == "source":
        return "source=" + analyses["source"].astype(str)
    if name == "lemma":
        return _lemma(params, types, analyses)
    spelled = "|".join(re.escape(each) for each in names if each.lower() == name)
    distinct = analyses["feats"].astype("category")
    value = distinct.cat.categories.to_series().str.extract(rf"(?:^|\|)((?:{spelled})=[^|]+)")[0]
    return pd.Series(value.to_numpy()[distinct.cat.codes], index=analyses.index)


def _lemma(params, types: pd.DataFrame, analyses: pd.DataFrame) -> pd.Series:
    """A feature for each of the most frequent lemmas, by the training counts of their forms."""
    lemma = analyses["lemma"].astype("category")
    counts = types["count"].reindex(analyses["word"]).to_numpy() * analyses["weight"].to_numpy()
    by_lemma = pd.Series(counts).groupby(lemma.cat.codes.to_numpy()).sum()
    top = by_lemma[by_lemma > 0].nlargest(params.lemmas).index
    return ("lemma=" + lemma.astype(str)).where(lemma.cat.codes.isin(top))
