"""Sentences read one by one or as a tree of their beginnings, in torch."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from accord.models.data import (
    END,
    NO_WORD,
    Sentences,
    State,
    branches,
    columns,
    of_like_length,
    trees,
)
from accord.models.embedding import WordEmbedding
from accord.models.encoder import Encoder
from accord.models.softmax import OutputLayer

WORDS_AT_ONCE = 4096  # read in one batch, padding included
PIECE = 256  # words of each text, of those that are longer: novels are read side by side


class StateReader(Protocol):
    """The part of a language model that computes its states."""

    embedding: WordEmbedding
    encoder: Encoder
    output: OutputLayer
    training: bool

    def __call__(
        self, words: Tensor, state: State, extra: Mapping[str, Tensor] = ...
    ) -> tuple[Tensor, State]: ...

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray: ...

    def as_read(self, sentences: Sentences) -> Sentences: ...

    def train(self, mode: bool) -> nn.Module: ...


class States(NamedTuple):
    """The states and contexts before some words."""

    positions: np.ndarray  # of the words in the text
    words: Tensor  # (N)
    h: Tensor  # the encoder's outputs before them (N × H)
    context: Tensor  # what the output needs to know of the words before them (N × n)


@contextmanager
def nothing_dropped(model: StateReader) -> Iterator[None]:
    """Switch the model to evaluation, and back to its mode afterwards."""
    was_training = model.training
    model.train(False)
    try:
        yield
    finally:
        model.train(was_training)


def states(model: StateReader, sentences: Sentences, training: bool = False) -> Iterator[States]:
    """The states before all words of the sentences, without dropout.

    In `training` the contexts are those that a model learned with.
    """
    device = model.embedding.weight.device
    sentences = model.as_read(sentences)
    contexts, extra = model.contexts(sentences, training), sentences.extra
    with nothing_dropped(model):
        for positions, is_word in of_like_length(sentences, WORDS_AT_ONCE, PIECE):
            targets = torch.from_numpy(sentences.ids[positions].astype(np.int64)).to(device)
            words = torch.cat([targets.new_full((1, targets.shape[1]), END), targets[:-1]])
            state = model.encoder.initial_state(words.shape[1])
            size = max(1, WORDS_AT_ONCE // words.shape[1])
            for piece in (slice(start, start + size) for start in range(0, len(words), size)):
                of_words = {
                    name: torch.from_numpy(each[positions[piece]]).to(device)
                    for name, each in extra.items()
                }
                h, state = model(words[piece], state, of_words)
                at, chosen = positions[piece][is_word[piece]], torch.from_numpy(is_word[piece])
                chosen = chosen.to(device)
                context = torch.from_numpy(contexts[at]).to(device)
                yield States(at, targets[piece][chosen], h[chosen], context)


def with_others(words: Tensor, others: Sequence[int]) -> Tensor:
    """Each word and, after it, the same other words: (N × 1 + M)."""
    beside = words.new_tensor(list(others)).expand(len(words), -1)
    return torch.cat([words.unsqueeze(1), beside], dim=1)


BRANCHES_AT_ONCE = 4096  # scored together


@torch.inference_mode()
def score_beside(model: StateReader, sentences: Sentences, others: Sequence[int]) -> np.ndarray:
    """log p of every word, in the first column, and of the others in its place: (N × 1 + M)."""
    device = model.embedding.weight.device
    contexts = model.contexts(sentences)
    scores = np.zeros((len(sentences.ids), 1 + len(others)))
    for positions, ids in trees(sentences):
        begins, branch = branches(ids)
        first = positions.T[begins.T]
        words = with_others(
            torch.from_numpy(sentences.ids[first].astype(np.int64)).to(device), others
        )
        context = torch.from_numpy(contexts[first]).to(device)
        with nothing_dropped(model):
            h = torch.cat(list(_outputs(model, ids, begins)))
            parts = zip(*(x.split(BRANCHES_AT_ONCE) for x in (h, words, context)), strict=True)
            log_p = torch.cat([model.output.log_prob_of(*part) for part in parts])
        is_word = ids != NO_WORD
        scores[positions[is_word]] = log_p.double().cpu().numpy()[branch[is_word]]
    return scores


def _outputs(model: StateReader, ids: np.ndarray, begins: np.ndarray) -> Iterator[Tensor]:
    """The encoder's outputs before the words that begin a branch, step by step (N × H)."""
    device = model.embedding.weight.device
    words, state = np.array([END]), model.encoder.initial_state(1)
    column = np.zeros(len(ids), np.int64)  # of the state, in which each sentence is read
    for step in range(ids.shape[1]):
        h, state = model(torch.from_numpy(words).to(device).unsqueeze(0), state)
        yield h[0, torch.from_numpy(column[begins[:, step]]).to(device)]
        goes_on = begins[:, step] & (ids[:, step] != END)
        state = columns(state, torch.from_numpy(column[goes_on]).to(device))
        words, column = ids[goes_on, step], np.cumsum(goes_on) - 1
