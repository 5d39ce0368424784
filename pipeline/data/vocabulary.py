"""The known words, the classes of all others, and the names of features.

A word outside the lexicons has the class of its likeliest analysis and, where that is a guess, φ of
that class, whether training has it or not: nothing in φ betrays which words were seen. A class is
one unknown word of the vocabulary. It has the analyses of its words of training, each by its mean
share. Spellings are those of the training text: others are not known before the test.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accord.errors import AccordError
from accord.models.common.checks import nearest
from accord.models.common.files import load_json
from accord.models.phi import Features
from accord.pipeline.base.names import UNKNOWN, UNKNOWN_ID

if TYPE_CHECKING:  # a model is queried without tables and lexicons
    import pandas as pd

    from accord.lexicon import Lexicon


class Vocabulary:
    """The known words of stage `analyse`, and the classes of all others.

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
        """Keep all words by id, the ids of the known ones, and the unknown words in a row.

        `classes` makes the classes of unknown words at their first use.
        """
        self.forms, self.known, self.unknown = forms, known, unknown
        self._make_classes = classes

    @property
    def is_open(self) -> bool:
        return bool(self.unknown)

    def knows(self, words: Sequence[str]) -> bool:
        return all(word in self.known for word in words)

    def ids(self, words: Sequence[str]) -> np.ndarray:
        """Return the id of each word, or of the unknown word that stands for it."""
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
        if len(self.unknown) == 1:
            return UnknownClasses(self.unknown, None)
        return self._make_classes()


FEWEST = 10  # words of training that a class needs; rarer ones are in the first together
SMALLEST = 0.05  # mean share below which an analysis is not worth keeping


class UnknownClasses:
    """The classes by the names of their unknown words, and the chain that finds a word's class."""

    def __init__(self, names: Sequence[str], chain: "Lexicon | None"):
        self.names, self.chain = list(names), chain
        self._id = {name: UNKNOWN_ID + place for place, name in enumerate(names)}

    @classmethod
    def learn(cls, words: Sequence[str], chain: "Lexicon") -> "UnknownClasses":
        """Learn the classes from words that stand for the unknown ones."""
        counts = Counter(_names(chain.lookup(words), len(words)))
        names = sorted(name for name, count in counts.items() if count >= FEWEST)
        return cls([UNKNOWN, *(name for name in names if name != UNKNOWN)], chain)

    def ids(self, forms: Sequence[str]) -> np.ndarray:
        """Return the id of the unknown word that each form is read as."""
        if len(self.names) == 1:
            return np.full(len(forms), UNKNOWN_ID)
        names = _names(self.chain.lookup(forms), len(forms))
        return np.array([self._id.get(name, UNKNOWN_ID) for name in names], dtype=np.int64)

    def analyses(self, words: Sequence[str]) -> "pd.DataFrame":
        """Return the analyses of each class of unknown words, by their mean share.

        In the first class, which has words of all kinds, only guesses count: analyses of numbers
        and signs would stand for those of words.
        """
        ids, rows = self.ids(words), self.chain.lookup(words)
        rows = rows.assign(lemma="", form=rows["word"], word=ids[rows["word"].to_numpy()])
        rows = rows[(rows["word"] > UNKNOWN_ID) | (rows["source"] == "guesser")]
        keys = ["word", "lemma", "upos", "feats", "source"]
        shares = rows.groupby(keys, observed=True)["weight"].sum().reset_index()
        shares["weight"] /= shares["word"].map(rows.groupby("word")["form"].nunique())
        return shares[shares["weight"] >= SMALLEST]


def _names(rows: "pd.DataFrame", count: int) -> list[str]:
    """Return the name of the class of each word, by its likeliest analysis."""
    best = rows.sort_values(["word", "weight"], ascending=[True, False], kind="stable")
    best = best.drop_duplicates("word").set_index("word")
    names = (f"{UNKNOWN} " + best["upos"].astype(str) + " " + best["feats"].astype(str)).str.strip()
    return names.reindex(range(count), fill_value=UNKNOWN).tolist()


WRITTEN = "written.parquet"


def save_written(folder: Path, counts: Counter[str]) -> None:
    """Save the commonest spelling of each lowercased form, of equal ones that without capitals."""
    import pandas as pd

    best: dict[str, tuple[int, str]] = {}
    for word, count in counts.items():
        form = word.lower()
        best[form] = max((count, word), best.get(form, (0, "")))  # capitals sort before others
    rows = [(form, word) for form, (_, word) in sorted(best.items())]
    pd.DataFrame(rows, columns=["form", "written"]).to_parquet(folder / WRITTEN)


def read_written(folder: Path) -> "pd.Series | None":
    """Return the spelling of each form; None if words are not lowercased."""
    import pandas as pd

    path = folder / WRITTEN
    return pd.read_parquet(path).set_index("form")["written"] if path.exists() else None


GRAMMAR = re.compile("(?:pos|[A-Z][A-Za-z]*)=[^×]+")  # no lemma, no source, nothing crossed
IDENTITY = "form="  # begins the name of the feature that a word has for itself alone


class NamedFeatures:
    """A Φ with the name of each feature."""

    def __init__(self, phi: Features, names: list[str]):
        self.phi, self.names = phi, names

    @classmethod
    def load(cls, folder: Path) -> "NamedFeatures":
        return cls(Features.load(folder / "phi.npz"), load_json(folder / "names.json", list))

    def row(self, word: int) -> dict[int, float]:
        """Return the features of a word and their values."""
        signature = self.phi.signature[word]
        entries = slice(*self.phi.indptr[signature : signature + 2])
        indices, values = self.phi.indices[entries], self.phi.values[entries]
        return dict(zip(indices.tolist(), values.tolist(), strict=True))

    def grammar(self, word: int) -> list[str]:
        """Return the grammar of a word by its features: parts of speech, then features of UD."""
        names = [self.names[feature] for feature in self.row(word)]
        simple = [name for name in names if GRAMMAR.fullmatch(name)]
        return sorted(simple, key=lambda name: not name.startswith("pos="))

    def number(self, name: str) -> int:
        if name not in self.names:
            raise AccordError(f"unknown feature '{name}'{nearest(name, self.names)}")
        return self.names.index(name)
