"""The n-grams of an ARPA file as a model that sentences are scored with, whoever wrote it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from accord.models.ngram.arpa.notation import STOP, UNKNOWN
from accord.models.ngram.arpa.reading import read_arpa, words_of_arpa
from accord.pipeline.inference.scorer import Scorer, Word
from accord.pipeline.prepared.special_words import UNKNOWN_ID
from accord.pipeline.trained.resolve import TrainedModel


class ArpaScorer(Scorer):
    """Reads a text as the file's words are written: in small letters if all of these are.

    A word that the file lacks has the probability of its `<unk>`, as KenLM gives it, and is marked
    as if it were spelled; by a file without one it has none.
    """

    def __init__(self, trained: TrainedModel):
        path = trained.place
        self.parts, self.trained = _Nothing(path), trained
        self.vocabulary = ArpaWords(words_of_arpa(path))
        self.lowercase = all(word == word.lower() for word in self.vocabulary.known)
        self.model = read_arpa(path, self.vocabulary.forms)
        self.spelling = self.speller = None

    def score_words(self, texts: Sequence[Sequence[str]]) -> list[list[Word]]:
        known = {STOP, *self.vocabulary.known}
        return [
            [replace(word, spelled=_written(word.form) not in known) for word in words]
            for words in super().score_words(texts)
        ]


class _Nothing:
    """The parts of a model that has none beside its probabilities."""

    def __init__(self, path: Path):
        self.path = path

    def __getattr__(self, part: str) -> None:
        raise ValueError(
            f"{self.path} has probabilities alone: expected a run, or an exported model's folder"
        )


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
        found = [self.known.get(_written(word), -1) for word in words]
        if -1 in found and not self.is_open:
            lacking = words[found.index(-1)]
            raise ValueError(f"'{lacking}' is not in this file, which has no {UNKNOWN} for it")
        return np.array([UNKNOWN_ID if number < 0 else number for number in found], np.int64)


def _written(word: str) -> str:
    return word.replace(" ", "_")
