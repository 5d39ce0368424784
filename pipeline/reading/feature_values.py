"""What the next word may be: the values of features of grammar, by the analyses of every word.

    P(f = v | K) = Σ_x p(x | K)·share(x, v),    share(x, v) = Σ weights of x's analyses with v / all

A word of several analyses counts for each by its weight, so the values of a feature, `none` for
analyses without it among them, sum to one. An unknown word has the analyses of its class; a
sentence's end, and a word of which no lexicon says anything, has none.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from models.network.next_word import WordValues
from pipeline.display.nearest import nearest

POS = "pos"
NONE = "none"


class FeatureValues:
    """Columns such as `Number=Plur` and `Number=none`, and the share that each word has of each.

    Asked for `Number`, there is a column for each value; for `Number=Plur`, this one.
    """

    def __init__(self, analysed: Path, words: int, asked: Sequence[str]):
        if repeated := [name for name in asked if asked.count(name) > 1]:
            raise ValueError(f"features: expected each once, got '{repeated[0]}' again")
        analyses = pd.read_parquet(analysed / "analyses.parquet") if asked else None
        self.names: list[str] = []
        parts = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
        for name in asked:
            parts.append(self._add(name, analyses, words))
        word, column, share = (np.concatenate(each) for each in zip(*parts, strict=True))
        self.shares = WordValues(word, column, share, words, len(self.names))

    def _add(self, asked: str, analyses: pd.DataFrame, words: int) -> tuple[np.ndarray, ...]:
        feature, _, value = asked.partition("=")
        share = shares(analyses, feature, words)
        values = sorted(share.columns, key=lambda each: (each == NONE, each))
        if value and value not in values:
            raise ValueError(f"unknown value '{value}' of {feature}{nearest(value, values)}")
        chosen = [value] if value else values
        first = len(self.names)
        self.names += [f"{feature}={each}" for each in chosen]
        dense = share[chosen].to_numpy()
        word, column = np.nonzero(dense)
        return word, column + first, dense[word, column]


def shares(analyses: pd.DataFrame, feature: str, words: int) -> pd.DataFrame:
    """The share of each value of a feature (columns) among the analyses of each word (rows)."""
    value = _values(analyses, feature)
    weight = analyses["weight"].astype(float)
    table = weight.groupby([analyses["word"], value], observed=True).sum().unstack(fill_value=0.0)
    table = table.reindex(range(words), fill_value=0.0)
    total = table.sum(axis=1)
    table = table.div(total.where(total > 0, 1.0), axis=0)
    table[NONE] = table.get(NONE, 0.0) + (total == 0)
    return table


def _values(analyses: pd.DataFrame, feature: str) -> pd.Series:
    """The value that each analysis has of a feature."""
    if feature == POS:
        return analyses["upos"].astype(str)
    distinct = analyses["feats"].astype("category")
    parsed = [
        dict(pair.split("=", 1) for pair in str(feats).split("|") if pair)
        for feats in distinct.cat.categories
    ]
    known = sorted({name for feats in parsed for name in feats})
    if feature not in known:
        raise ValueError(f"unknown feature '{feature}'{nearest(feature, [POS, *known])}")
    values = np.array([feats.get(feature, NONE) for feats in parsed], dtype=object)
    return pd.Series(values[distinct.cat.codes], index=analyses.index)
