"""The n-grams of an ARPA file as a model that sentences are scored with, whoever wrote it."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from models.ngram.arpa import STOP, UNKNOWN, read_arpa, words_of_arpa
from pipeline.inference.scorer import Scorer
from pipeline.prepared.special_words import UNKNOWN_ID

ENDINGS = (".arpa", ".arpa.gz")


class ArpaScorer(Scorer):
    """Reads a text as the file's words are written: in small letters if all of these are.

    A word that the file lacks has the probability of its `<unk>`, as KenLM gives it; by a file
    without one it has none.
    """

    def __init__(self, path: Path):
        self.artefacts = {}
        self.vocabulary = ArpaWords(words_of_arpa(path))
        self.lowercase = all(word == word.lower() for word in self.vocabulary.known)
        self.model = read_arpa(path, self.vocabulary.forms)
        self.spelling = self.speller = None


class ArpaWords:
    """The words of a file, as `Vocabulary` offers those of a run; blanks in words are `_` there."""

    def __init__(self, words: set[str]):
        self.is_open = UNKNOWN in words
        self.unknown = [UNKNOWN] if self.is_open else []
        first = [STOP, *self.unknown]
        self.forms = [*first, *sorted(words - {*first})]
        self.known = {
            form: number for number, form in enumerate(self.forms) if number >= len(first)
        }

    def ids(self, words: Sequence[str]) -> np.ndarray:
        found = [self.known.get(word.replace(" ", "_"), -1) for word in words]
        if -1 in found and not self.is_open:
            lacking = words[found.index(-1)]
            raise ValueError(f"'{lacking}' is not in this file, which has no {UNKNOWN} for it")
        return np.array([UNKNOWN_ID if number < 0 else number for number in found], np.int64)
