"""Words spelled in units, pieces or letters, and a language model of units as one of words."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from models.arrays import load_arrays
from models.batching import Sentences

if TYPE_CHECKING:
    from models.language_model import LanguageModel


@dataclass(frozen=True, eq=False)
class Units:
    """The units of each word of a vocabulary, the last of which tells that the word is over.

    Word w is spelled `units[starts[w]:starts[w + 1]]`. END is a unit of its own, with its id.
    """

    units: np.ndarray
    starts: np.ndarray
    names: np.ndarray  # of all units there are

    def spell(self, sentences: Sentences) -> Sentences:
        """Sentences of units."""
        lengths = self._lengths(sentences)
        places = np.arange(lengths.sum()) + np.repeat(
            self.starts[sentences.ids] - (np.cumsum(lengths) - lengths), lengths
        )
        return Sentences(self.units[places], np.add.reduceat(lengths, sentences.starts))

    def sum_by_word(self, sentences: Sentences, values: np.ndarray) -> np.ndarray:
        """For each word the sum of the values of its units."""
        return np.add.reduceat(values, self.first(sentences))

    def first(self, sentences: Sentences) -> np.ndarray:
        """Where the units of each word begin."""
        lengths = self._lengths(sentences)
        return np.cumsum(lengths) - lengths

    def _lengths(self, sentences: Sentences) -> np.ndarray:
        return np.diff(self.starts)[sentences.ids]

    def save(self, path: Path) -> None:
        np.savez_compressed(path, units=self.units, starts=self.starts, names=self.names)

    @classmethod
    def load(cls, path: Path) -> "Units":
        return cls(**load_arrays(path, ("units", "starts", "names")))


class UnitModel:
    """p(x | K) = Π_i p(u_i | K, u_1 … u_{i−1}) over the units u_1 … u_n that spell the word x.

    It sums to at most one over all strings: other spellings of a word than ours get mass too.
    """

    def __init__(self, model: "LanguageModel", units: Units):
        self.model, self.units = model, units

    def score(self, sentences: Sentences) -> np.ndarray:
        """log p of every word of every sentence in order, END included, in nats."""
        return self.units.sum_by_word(sentences, self.model.score(self.units.spell(sentences)))

    def score_beside(self, sentences: Sentences, others: Sequence[int]) -> np.ndarray:
        """The same in the first column; log p of others, each a unit of its own, in its place."""
        units = self.units.spell(sentences)
        scores = self.model.score_beside(units, self.units.units[self.units.starts[others]])
        words = self.units.sum_by_word(sentences, scores[:, 0])
        return np.column_stack([words, scores[self.units.first(sentences), 1:]])

    def parameter_count(self) -> int:
        return self.model.parameter_count()
