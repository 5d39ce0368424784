"""Words spelled in subwords, and a language model of subwords as one of words."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from accord.models.common.arrays import load_array, load_arrays
from accord.models.common.files import load_json
from accord.models.data import Sentences, in_a_row

BOUNDARY = "\n"  # ends every word, and is in none
SPELLER = "subwords.json"  # what spells any string, in the form of the `tokenizers` package
COUNTS = "subwords.count.npy"  # how often training has each subword


@dataclass(frozen=True, eq=False)
class Subwords:
    """The subwords of some forms; the last subword of a form marks the end of the word.

    The form at position i is spelled `subwords[starts[i]:starts[i + 1]]`. Behind all of them stands
    END, a subword of its own, with its id: it is at position −1, as in a text.
    """

    subwords: np.ndarray
    starts: np.ndarray

    def spell(self, text: Sentences) -> Sentences:
        """Return the sentences in subwords."""
        lengths = self._lengths(text)
        positions = in_a_row(self.starts[:-1][text.ids], lengths)
        of_sentences = np.add.reduceat(lengths, text.starts)
        return text._replace(ids=self.subwords[positions], lengths=of_sentences)

    def sum_by_word(self, text: Sentences, values: np.ndarray) -> np.ndarray:
        """Return for each word the sum of its subwords' values."""
        lengths = self._lengths(text)
        return np.add.reduceat(values, np.cumsum(lengths) - lengths)

    def count(self, text: Sentences, subwords: int) -> np.ndarray:
        """Count each subword in a text."""
        lengths = np.diff(self.starts)
        uses = np.bincount(text.ids % len(lengths), minlength=len(lengths))  # END is at −1
        return np.bincount(self.subwords, np.repeat(uses, lengths), minlength=subwords)

    def _lengths(self, text: Sentences) -> np.ndarray:
        return np.diff(self.starts)[text.ids]

    def save(self, folder: Path, name: str) -> None:
        np.savez_compressed(_path(folder, name), subwords=self.subwords, starts=self.starts)


def load_subwords(folder: Path, name: str) -> Subwords | None:
    """Read the subwords of the forms of a split or suite, if there are any."""
    path = _path(folder, name)
    return Subwords(**load_arrays(path, ("subwords", "starts"))) if path.exists() else None


def _path(folder: Path, name: str) -> Path:
    return folder / f"{name}.subwords.npz"


def count_subwords(folder: Path) -> int | None:
    """Return the number of subwords, END included; None if there are no subwords."""
    path = folder / SPELLER
    return 1 + len(load_json(path, dict)["model"]["vocab"]) if path.exists() else None


def subword_mass(folder: Path) -> np.ndarray | None:
    """Return the count of each subword plus one; None if they were not counted."""
    path = folder / COUNTS
    return load_array(path) + 1 if path.exists() else None


def ends_of_words(folder: Path) -> np.ndarray:
    """Return which subwords end a word; END, the first of all, is a word by itself."""
    vocabulary = load_json(folder / SPELLER, dict)["model"]["vocab"]
    ends = np.zeros(1 + len(vocabulary), bool)
    ends[0] = True
    ends[[1 + number for piece, number in vocabulary.items() if piece.endswith(BOUNDARY)]] = True
    return ends


class SubwordScorer(Protocol):
    """The interface that a model of subwords needs."""

    def score(self, sentences: Sentences) -> np.ndarray: ...

    def parameter_count(self) -> int: ...


class SubwordModel:
    """p(x | K) = Π_i p(u_i | K, u_1 … u_{i−1}) over the subwords u_1 … u_n that spell the word x.

    Every string has a probability. The probabilities sum to at most one: other spellings of a word
    have mass too.
    """

    def __init__(self, model: SubwordScorer):
        self.model = model

    def score(self, text: Sentences, subwords: Subwords) -> np.ndarray:
        """Return log p of every word of every sentence in order, END included, in nats."""
        return subwords.sum_by_word(text, self.model.score(subwords.spell(text)))

    def parameter_count(self) -> int:
        return self.model.parameter_count()
