"""The states in which sentences are read, each by itself, from where every text begins."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from models.common import ranges
from models.common.batching import END, Sentences
from models.common.state import State

WORDS_AT_ONCE = 4096  # read in one batch, padding included


class Reader(Protocol):
    """What reads sentences: the part of a language model that its states are asked of."""

    embedding: nn.Module
    encoder: nn.Module
    output: nn.Module
    training: bool

    def __call__(self, words: Tensor, state: State) -> tuple[Tensor, State]: ...

    def contexts(self, sentences: Sentences) -> np.ndarray: ...

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


def states(model: Reader, sentences: Sentences) -> Iterator[States]:
    """The states before all words of the sentences, nothing being dropped."""
    device = model.embedding.weight.device
    contexts = model.contexts(sentences)
    with nothing_dropped(model):
        for positions, is_word in _batches(sentences):
            targets = torch.from_numpy(sentences.ids[positions].astype(np.int64)).to(device)
            words = torch.cat([targets.new_full((1, targets.shape[1]), END), targets[:-1]])
            h, _ = model(words, model.encoder.initial_state(words.shape[1]))
            chosen = torch.from_numpy(is_word).to(device)
            context = torch.from_numpy(contexts[positions[is_word]]).to(device)
            yield States(positions[is_word], targets[chosen], h[chosen], context)


def with_others(words: Tensor, others: Sequence[int]) -> Tensor:
    """Each word and, beside it, the same others: (N × 1 + M)."""
    beside = words.new_tensor(list(others)).expand(len(words), -1)
    return torch.cat([words.unsqueeze(1), beside], dim=1)


def _batches(sentences: Sentences) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Places (T × B) of words, sentences of like length together, and which of them are real."""
    order = np.argsort(-sentences.lengths, kind="stable")
    starts, first = sentences.starts, 0
    while first < len(order):
        longest = int(sentences.lengths[order[first]])
        chosen = order[first : first + max(1, WORDS_AT_ONCE // longest)]
        first += len(chosen)
        yield ranges.in_columns(starts[chosen], sentences.lengths[chosen])
