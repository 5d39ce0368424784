"""From words to ids, and features by their names."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accord.errors import AccordError
from accord.models.common.checks import nearest
from accord.models.common.files import load_json
from accord.models.phi import Features

if TYPE_CHECKING:
    from accord.pipeline.data.unknown_words import UnknownClasses


class Vocabulary:
    """The words that stage `analyse` found to be known, and the classes of all others.

    In a closed vocabulary, words of corpus.pretraining alone have ids, which that text needs. After
    pretraining they have no mass and are unknown.
    """

    def __init__(
        self,
        forms: Sequence[str],
        known: Mapping[str, int],
        unknown: Sequence[str],
        classes: "Callable[[], UnknownClasses]",
    ):
        """All words by id, the ids of the known ones, and the unknown words in a row.

        `classes` tells unknown words apart. It is called when the first of them is met.
        """
        self.forms, self.known, self.unknown = forms, known, unknown
        self._tell_apart = classes

    @property
    def is_open(self) -> bool:
        return bool(self.unknown)

    def knows(self, words: Sequence[str]) -> bool:
        return all(word in self.known for word in words)

    def ids(self, words: Sequence[str]) -> np.ndarray:
        """The id of each word, or of the unknown word that stands for it."""
        ids = np.array([self.known.get(word, -1) for word in words], dtype=np.int64)
        lacking = np.flatnonzero(ids < 0)
        if len(lacking):
            others = [words[place] for place in lacking]
            if not self.is_open:
                raise AccordError(f"'{others[0]}' is not known to this closed vocabulary")
            ids[lacking] = self._classes.ids(others)
        return ids

    @cached_property
    def _classes(self) -> "UnknownClasses":
        return self._tell_apart()


GRAMMAR = re.compile("(?:pos|[A-Z][A-Za-z]*)=[^×]+")  # no lemma, no source, nothing crossed
IDENTITY = "form="  # begins the name of the feature that a word has for itself alone


class NamedFeatures:
    """A Φ with the name of each feature."""

    def __init__(self, phi: Features, names: list[str]):
        self.phi, self.names = phi, names

    @classmethod
    def load(cls, folder: Path) -> "NamedFeatures":
        return cls(Features.load(folder / "phi.npz"), load_json(folder / "names.json", list))

    def of(self, word: int) -> dict[int, float]:
        """The features of a word and their values."""
        row = self.phi.signature[word]
        entries = slice(self.phi.indptr[row], self.phi.indptr[row + 1])
        indices, values = self.phi.indices[entries], self.phi.values[entries]
        return dict(zip(indices.tolist(), values.tolist(), strict=True))

    def grammar(self, word: int) -> list[str]:
        """The grammar of a word by its features: parts of speech, then features of UD."""
        names = [self.names[feature] for feature in self.of(word)]
        simple = [name for name in names if GRAMMAR.fullmatch(name)]
        return sorted(simple, key=lambda name: not name.startswith("pos="))

    def number(self, name: str) -> int:
        if name not in self.names:
            raise AccordError(f"unknown feature '{name}'{nearest(name, self.names)}")
        return self.names.index(name)
