"""The readings of a word: what the lexicon says that it can be, and which feature says which."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from accord.pipeline.page.families import CROSSED
from accord.pipeline.prepared.special_words import END_ID

COLUMNS = ["word", "lemma", "upos", "feats", "weight", "source"]


@dataclass(frozen=True)
class Reading:
    lemma: str
    upos: str
    feats: tuple[str, ...]
    share: float  # of the word's readings
    source: str  # the lexicon

    def has(self, feature: str) -> bool:
        """Whether this reading gives the word a feature, all parts of it if it is crossed."""
        own = {f"pos={self.upos}", f"lemma={self.lemma}", f"source={self.source}", *self.feats}
        return own.issuperset(CROSSED.split(feature))


class Readings:
    """The analyses of every known word, and of each class of unknown words."""

    def __init__(self, read: Callable[[Sequence[str]], pd.DataFrame]):
        """`read` gives columns of the analyses, by rising words."""
        self.read = read
        self._one_at_a_time = threading.Lock()

    def table(self) -> pd.DataFrame:
        """All of them, read at the first call, which takes seconds: who calls meanwhile waits."""
        with self._one_at_a_time:
            return self._table

    @cached_property
    def _table(self) -> pd.DataFrame:
        table = self.read(COLUMNS)
        return table[table["word"] != END_ID]  # which no lexicon knows, whatever is guessed

    @cached_property
    def words(self) -> np.ndarray:
        return self.table()["word"].to_numpy()  # ascending

    def of(self, word: int) -> Sequence[Reading]:
        """Those of a word, the likeliest first."""
        first, end = np.searchsorted(self.words, [word, word + 1])
        rows = self.table().iloc[first:end].sort_values("weight", ascending=False, kind="stable")
        total = rows["weight"].sum()
        return [
            Reading(row.lemma, row.upos, _parts(row.feats), row.weight / total, row.source)
            for row in rows.itertuples()
        ]

    def has(self, feature: str) -> bool:
        """Whether any reading has a value of a feature such as `Gender`."""
        return any(
            part.startswith(f"{feature}=") for feats in self._distinct for part in _parts(feats)
        )

    @cached_property
    def _distinct(self) -> list[str]:
        """Every combination of features; read alone, before any reading is asked for."""
        return self.read(["feats"])["feats"].cat.categories.tolist()


def _parts(feats: str) -> tuple[str, ...]:
    return tuple(part for part in feats.split("|") if part)
