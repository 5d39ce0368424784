"""Agreement suites: minimal pairs of a right and a wrong sentence, as text and as ids.

A suite is a folder of text files in the form of CLAMS, a construction each: `True`, a tab and a
right sentence, followed by `False`, a tab and a wrong one. Words stand between single spaces.

Needs numpy only, as suites travel with prepared data.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from corpora.text import lines
from models.arrays import load_arrays
from models.batching import Sentences
from pipeline.data import folder_of
from pipeline.vocabulary import END_ID

if TYPE_CHECKING:
    from pipeline.words import Words

ENDING = ".suite.npz"
CLAMS = "clams-fr"  # the suite of Mueller et al. (2020), in French


class Pair(NamedTuple):
    construction: str
    good: str
    bad: str


def suite_files(suite: str) -> list[Path]:
    """The files of a suite, one for each construction, by the path or the name of its folder."""
    folder = Path(suite) if Path(suite).is_dir() else folder_of(suite)
    found = sorted(folder.glob("[a-z]*.txt"))
    if not found:
        raise FileNotFoundError(f"{folder} is no suite: expected a file for each construction")
    return found


def suite_name(suite: str) -> str:
    return Path(suite).resolve().name


def read_suite(suite: str, lowercase: bool = False) -> list[Pair]:
    """All pairs of a suite, file by file."""
    pairs = [pair for path in suite_files(suite) for pair in read_pairs(path)]
    return [Pair(c, good.lower(), bad.lower()) for c, good, bad in pairs] if lowercase else pairs


def suite_words(pairs: Sequence[Pair]) -> set[str]:
    return {word for pair in pairs for text in (pair.good, pair.bad) for word in text.split(" ")}


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of one construction."""
    pairs, good = [], None
    for number, line in enumerate(lines(path), start=1):
        line = line.rstrip("\r\n")
        kind, _, sentence = line.partition("\t")
        words = all(word.isprintable() and word for word in sentence.split(" "))
        if kind == "True" and words and good is None:
            good = sentence
        elif kind == "False" and words and good is not None and sentence != good:
            pairs.append(Pair(path.stem, good, sentence))
            good = None
        else:
            expected = "False, a tab and another sentence" if good else "True, a tab and a sentence"
            raise ValueError(f"{path}, line {number}: expected {expected}; got {line!r}")
    if good is not None:
        raise ValueError(f"{path}: expected a False line at the end, after {good!r}")
    return pairs


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

    @classmethod
    def encode(cls, pairs: Sequence[Pair], vocabulary: "Words") -> "Suite":
        known = [
            vocabulary.is_open or vocabulary.knows(f"{p.good} {p.bad}".split(" ")) for p in pairs
        ]
        judged = [pair for pair, is_known in zip(pairs, known, strict=True) if is_known]
        texts = list(dict.fromkeys(text for pair in judged for text in (pair.good, pair.bad)))
        words = [text.split(" ") for text in texts]
        place = {text: number for number, text in enumerate(texts)}
        forms = list(dict.fromkeys(word for ws in words for word in ws))
        number = {form: place for place, form in enumerate(forms)}
        form = np.array([i for ws in words for i in (*(number[w] for w in ws), -1)], np.int32)
        names = sorted({pair.construction for pair in pairs})
        return cls(
            ids=np.array([*vocabulary.ids(forms), END_ID], np.int32)[form],  # −1 is the last
            lengths=np.array([len(sentence) + 1 for sentence in words], np.int64),
            # A pair that cannot be judged points at any sentence.
            good=np.array([place.get(pair.good, 0) for pair in pairs], np.int64),
            bad=np.array([place.get(pair.bad, 0) for pair in pairs], np.int64),
            critical=np.array([_first_difference(pair) for pair in pairs], np.int64),
            known=np.array(known, bool),
            construction=np.array([names.index(pair.construction) for pair in pairs], np.int64),
            constructions=np.array(names, str),
            forms=np.array(forms, str),
            form=form,
        )


def _first_difference(pair: Pair) -> int:
    """Where the first word stands that differs; the end of the shorter sentence is one too."""
    good, bad = pair.good.split(" "), pair.bad.split(" ")
    differing = (place for place, (a, b) in enumerate(zip(good, bad, strict=False)) if a != b)
    return next(differing, min(len(good), len(bad)))
