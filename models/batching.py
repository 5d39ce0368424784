"""Sentences as a stream: shuffled, laid side by side in columns, cut into windows of time."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from models.recipe import Recipe


class Sentences(NamedTuple):
    """Sentences in a row: the ids of all words, and the length of each sentence, END included."""

    ids: np.ndarray
    lengths: np.ndarray

    @property
    def starts(self) -> np.ndarray:
        return np.cumsum(self.lengths) - self.lengths


def windows(
    sentences: Sentences, recipe: Recipe, end: int, generator: np.random.Generator
) -> Iterator[tuple[Tensor, Tensor]]:
    """One epoch: (words, targets), each (T × B), every column going on where it stopped."""
    order = generator.permutation(len(sentences.lengths))
    stream = _in_order(sentences, order)
    columns = min(recipe.batch, len(stream))
    length = len(stream) // columns
    targets = stream[: length * columns].reshape(columns, length).T
    words = np.concatenate([np.full((1, columns), end, targets.dtype), targets[:-1]])
    start = 0
    while start < length:
        stop = min(length, start + _window_length(recipe, generator))
        yield _tensor(words[start:stop]), _tensor(targets[start:stop])
        start = stop


def _in_order(sentences: Sentences, order: np.ndarray) -> np.ndarray:
    """The sentences' ids in that order, END after each as before."""
    lengths, starts = sentences.lengths[order], sentences.starts[order]
    shift = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    return sentences.ids[np.arange(len(shift)) + shift]


def _window_length(recipe: Recipe, generator: np.random.Generator) -> int:
    """Most windows near the full length, some near half, so that their borders move (AWD-LSTM)."""
    if not recipe.vary_window:
        return recipe.window
    base = recipe.window if generator.random() < 0.95 else recipe.window / 2
    return max(5, round(generator.normal(base, 5)))


def _tensor(array: np.ndarray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.int64))
