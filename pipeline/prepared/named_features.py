"""Φ as a person reads it: the features of a word by their names."""

import re
from pathlib import Path

from accord.models.common.files.json_file import load_json
from accord.models.features.phi import Features
from accord.pipeline.display.nearest import nearest

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
        """What a word's features say of its grammar: parts of speech, then features of UD."""
        names = [self.names[feature] for feature in self.of(word)]
        simple = [name for name in names if GRAMMAR.fullmatch(name)]
        return sorted(simple, key=lambda name: not name.startswith("pos="))

    def number(self, name: str) -> int:
        if name not in self.names:
            raise ValueError(f"unknown feature '{name}'{nearest(name, self.names)}")
        return self.names.index(name)
