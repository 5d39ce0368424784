"""Factors of words, for n-grams that back off over them: what the lexicon says of each."""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from accord.pipeline.features.templates import known_names
from accord.pipeline.prepared.special_words import END_ID

COLUMNS = {"lemma": "lemma", "pos": "upos"}
LIKELY = 0.5  # an analysis counts if it is so likely, as a share of the likeliest


def factors_of(analyses: pd.DataFrame, words: int, names: Sequence[str]) -> dict[str, np.ndarray]:
    """A number for what is said of each word; 0 is that of END, and of nothing else.

    An ambiguous word has all that it may be as one: `noun or verb` is a part of speech by itself.
    """
    weight = analyses["weight"]
    likeliest = weight.groupby(analyses["word"]).transform("max")
    likely = analyses[weight >= LIKELY * likeliest]
    return {name: _numbers(likely["word"], _said(likely, name), words) for name in names}


def _said(analyses: pd.DataFrame, name: str) -> pd.Series:
    if name in COLUMNS:
        return analyses[COLUMNS[name]].astype(str)
    spelled = {each.lower(): each for each in known_names(analyses)}
    if name not in spelled:
        raise ValueError(
            f"background.history: factored: expected factors among "
            f"{', '.join([*COLUMNS, *spelled])}; found '{name}'"
        )
    value = (
        analyses["feats"].astype(str).str.extract(rf"(?:^|\|){re.escape(spelled[name])}=([^|]+)")
    )
    return value[0].fillna("")


def _numbers(word: pd.Series, said: pd.Series, words: int) -> np.ndarray:
    table = (
        pd.DataFrame({"word": word, "said": said}).drop_duplicates().sort_values(["word", "said"])
    )
    together = table.groupby("word")["said"].agg("|".join).reindex(range(words), fill_value="")
    numbers = 1 + pd.factorize(together)[0]
    numbers[END_ID] = 0
    return numbers
