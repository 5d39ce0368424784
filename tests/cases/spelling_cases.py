"""Small spelling models, and the exact mass of all strings."""

import itertools
from collections.abc import Sequence

import numpy as np

from accord.models.neural_spelling import NeuralSpelling
from accord.models.spelling import NGramSpelling, Spelling

WORDS = ["ba", "bab", "a", "abba", "b", "bbab", "aab", "12", "7", "ab1", "21"]
CLASSES = [0, 0, 1, 1, 0, 0, 1, 2, 2, 1, 2]
COUNT = 4  # the last class has no word


def made(kind: str, words=WORDS, classes=CLASSES, count=COUNT) -> Spelling:
    if kind == "neural":
        model = NeuralSpelling.learn(words, classes, count)
        model.network.double()  # so that sums are as exact as the model
        return model
    return NGramSpelling.learn(words, classes, count, order=3)


def strings(alphabet: Sequence[str], longest: int) -> list[str]:
    """All words over some characters up to a length, the longest last."""
    lengths = range(1, longest + 1)
    return ["".join(word) for n in lengths for word in itertools.product(alphabet, repeat=n)]


def tail(model: Spelling, alphabet: Sequence[str], longest: int) -> np.ndarray:
    """The mass, by class, of all words longer than that: what was begun and is not over."""
    words = ["".join(word) for word in itertools.product(alphabet, repeat=longest)]
    symbols = [model.alphabet.symbols(word) for word in words]
    escapes = np.array([[model.alphabet.escapes(word)] for word in words])
    begun = np.exp(model.sequences(symbols) + escapes).sum(axis=0)
    over = np.exp(model.sequences([[*each, 0] for each in symbols]) + escapes).sum(axis=0)
    longer_numbers = (1 - 1 / model.length) ** longest
    return (1 - model.numbers) * (begun - over) + model.numbers * longer_numbers
