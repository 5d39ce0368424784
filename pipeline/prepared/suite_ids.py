"""Agreement suites as ids: they travel with prepared data, and are judged where models are trained.

Needs numpy only.
"""

from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from accord.models.common.batching import Sentences
from accord.models.common.files.arrays import load_arrays

ENDING = ".suite.npz"


@dataclass(frozen=True)
class Suite:
    """A suite in the ids of a vocabulary; a sentence that several pairs share is kept once."""

    ids: np.ndarray  # the words of all sentences, END after each
    lengths: np.ndarray  # of each sentence, END included
    good: np.ndarray  # the right sentence of each pair
    bad: np.ndarray
    critical: np.ndarray  # the place in both sentences of the first word that differs
    known: np.ndarray  # whether a pair can be judged: a closed vocabulary may lack a word of it
    construction: np.ndarray  # of each pair, a place in `constructions`
    constructions: np.ndarray
    forms: np.ndarray  # the words as they are written, each once
    form: np.ndarray  # which of them each word is, −1 for ends

    @property
    def sentences(self) -> Sentences:
        return Sentences(self.ids, self.lengths)

    def save(self, path: Path) -> None:
        np.savez_compressed(path, **asdict(self))

    @classmethod
    def load(cls, path: Path) -> "Suite":
        return cls(**load_arrays(path, [each.name for each in fields(cls)]))
