"""The states in which sentences are read, each by itself, from where every text begins."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from accord.models.common.batching import END, Sentences, of_like_length
from accord.models.common.state import State

WORDS_AT_ONCE = 4096  # read in one batch, padding included


class Reader(Protocol):
    """What reads sentences: the part of a language model that its states are asked of."""

    embedding: nn.Module
    encoder: nn.Module
    output: nn.Module
    training: bool

    def __call__(
        self, words: Tensor, state: State, labels: Tensor | None = None
    ) -> tuple[Tensor, State]: ...

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray: ...

    def train(self, mode: bool) -> nn.Module: ...


class States(NamedTuple):
    """What is known before each of some words."""

    positions: np.ndarray  # of the words in the text
    words: Tensor  # (N)
    h: Tensor  # the encoder's outputs before them (N × H)
    context: Tensor  # what the output needs to know of the words before them (N × n)


@contextmanager
def nothing_dropped(model: Reader) -> Iterator[None]:
    """The model as it scores, and afterwards as it was, in training or not."""
    was_training = model.training
    model.train(False)
    try:
        yield
    finally:
        model.train(was_training)


def states(model: Reader, sentences: Sentences, training: bool = False) -> Iterator[States]:
    """The states before all words of the sentences, nothing being dropped.

    In `training` the contexts are those that a model learned with.
    """
    device = model.embedding.weight.device
    contexts, labels = model.contexts(sentences, training), sentences.labels_of_words
    with nothing_dropped(model):
        for positions, is_word in of_like_length(sentences, WORDS_AT_ONCE):
            targets = torch.from_numpy(sentences.ids[positions].astype(np.int64)).to(device)
            words = torch.cat([targets.new_full((1, targets.shape[1]), END), targets[:-1]])
            of_words = None if labels is None else torch.from_numpy(labels[positions]).to(device)
            h = _read(model, words, of_words)
            chosen = torch.from_numpy(is_word).to(device)
            context = torch.from_numpy(contexts[positions[is_word]]).to(device)
            yield States(positions[is_word], targets[chosen], h[chosen], context)


def _read(model: Reader, words: Tensor, labels: Tensor | None) -> Tensor:
    """The encoder's outputs; what is very long is read in pieces, in room that does not grow."""
    state, outputs = model.encoder.initial_state(words.shape[1]), []
    for start in range(0, len(words), WORDS_AT_ONCE):
        piece = slice(start, start + WORDS_AT_ONCE)
        h, state = model(words[piece], state, None if labels is None else labels[piece])
        outputs.append(h)
    return torch.cat(outputs) if len(outputs) > 1 else outputs[0]


def with_others(words: Tensor, others: Sequence[int]) -> Tensor:
    """Each word and, beside it, the same others: (N × 1 + M)."""
    beside = words.new_tensor(list(others)).expand(len(words), -1)
    return torch.cat([words.unsqueeze(1), beside], dim=1)
