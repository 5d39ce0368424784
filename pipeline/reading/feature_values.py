"""What the next word may be: the values of features of grammar, by the analyses of every word.

    P(f = v | K) = Σ_x p(x | K)·share(x, v),    share(x, v) = Σ weights of x's analyses with v / all

A word of several analyses counts for each by its weight, so the values of a feature, `none` for
analyses without it among them, sum to one. An unknown word has the analyses of its class; a
sentence's end, and a word of which no lexicon says anything, has none.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd

from accord.models.network.next_word import WordValues
from accord.pipeline.display.nearest import nearest
from accord.pipeline.prepared.special_words import END_ID

POS = "pos"
NONE = "none"
AnalysesOf = Callable[[Sequence[str]], pd.DataFrame]


class FeatureValues:
    """Columns such as `Number=Plur` and `Number=none`, and the share that each word has of each.

    Asked for `Number`, there is a column for each value; for `Number=Plur`, this one.
    """

    def __init__(self, analyses_of: AnalysesOf, words: int, asked: Sequence[str]):
        """`analyses_of` gives columns of the table of analyses, where any are asked for."""
        if repeated := [name for name in asked if asked.count(name) > 1]:
            raise ValueError(f"features: expected each once, got '{repeated[0]}' again")
        analyses = _Analyses(analyses_of, words) if asked else None
        self.names: list[str] = []
        parts = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
        for name in asked:
            parts.append(self._add(name, analyses))
        word, column, share = (np.concatenate(each) for each in zip(*parts, strict=True))
        self.shares = WordValues(word, column, share, words, len(self.names))

    def _add(self, asked: str, analyses: "_Analyses") -> tuple[np.ndarray, ...]:
        feature, _, value = asked.partition("=")
        values, code = analyses.values(feature)
        if value and value not in values:
            raise ValueError(f"unknown value '{value}' of {feature}{nearest(value, values)}")
        chosen = [value] if value else values
        column = np.full(len(values), -1)
        column[[values.index(each) for each in chosen]] = len(self.names) + np.arange(len(chosen))
        self.names += [f"{feature}={each}" for each in chosen]
        kept = column[code] >= 0
        return analyses.word[kept], column[code[kept]], analyses.share[kept]


class _Analyses:
    """The analyses of all words, each with its share of its word.

    A word without any has one that says nothing.
    """

    def __init__(self, analyses_of: AnalysesOf, words: int):
        table = analyses_of(["word", "upos", "feats", "weight"])
        table = table[table["word"] != END_ID]  # a guesser guesses at what it is shown, that too
        word, weight = table["word"].to_numpy(), table["weight"].to_numpy(float)
        total = np.bincount(word, weight, minlength=words)
        without = np.flatnonzero(total == 0)
        some = total[word] > 0
        self.word = np.concatenate([word[some], without])
        self.share = np.concatenate([weight[some] / total[word[some]], np.ones(len(without))])
        self.upos, self.feats = table["upos"][some].cat, table["feats"][some].cat
        self.nothing = len(without)

    def values(self, feature: str) -> tuple[list[str], np.ndarray]:
        """The values of a feature, `none` the last, and which of them each analysis has."""
        of_analysis = self.upos if feature == POS else self.feats
        own = of_analysis.categories.astype(str)
        if feature != POS:
            own = self._of_feats(feature, own)
        values = [*sorted({*own} - {NONE}), NONE]
        number = np.array([values.index(each) for each in own], dtype=np.int64)
        code = number[of_analysis.codes.to_numpy()]
        return values, np.concatenate([code, np.full(self.nothing, len(values) - 1)])

    def _of_feats(self, feature: str, distinct: Iterable[str]) -> list[str]:
        parsed = [
            dict(pair.split("=", 1) for pair in feats.split("|") if pair) for feats in distinct
        ]
        known = sorted({name for feats in parsed for name in feats})
        if feature not in known:
            raise ValueError(f"unknown feature '{feature}'{nearest(feature, [POS, *known])}")
        return [feats.get(feature, NONE) for feats in parsed]
