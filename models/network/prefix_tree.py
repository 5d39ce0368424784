"""Sentences read as a tree of their beginnings: what several have in common is read once.

A *branch* is a word after a beginning. The sentences of an agreement suite differ in few words:
in CLAMS French 753,896 words and ends are 201,987 branches, which leave 114,468 beginnings.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from accord.models.common import ranges
from accord.models.common.batching import END, NO_WORD, Sentences
from accord.models.common.state import columns
from accord.models.network.states import Reader, nothing_dropped, with_others

WORDS_AT_ONCE = 1 << 16  # in one tree, padding included
BRANCHES_AT_ONCE = 4096  # scored together
SORTED_BY = 32  # words: few sentences have more in common
COMPARED = 4  # words, to see whether sentences have much in common


def begin_alike(sentences: Sentences) -> bool:
    """Whether most sentences begin as another does, so that a tree is worth its while."""
    _, ids = _rows(sentences, np.arange(len(sentences.lengths)), COMPARED)
    return 2 * len(np.unique(ids, axis=0)) < len(ids)


@torch.inference_mode()
def score_beside(model: Reader, sentences: Sentences, others: Sequence[int]) -> np.ndarray:
    """log p of every word, in the first column, and of the others in its place: (N × 1 + M)."""
    device = model.embedding.weight.device
    contexts = model.contexts(sentences)
    scores = np.zeros((len(sentences.ids), 1 + len(others)))
    for positions, ids in _trees(sentences):
        begins, branch = _branches(ids)
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


def _trees(sentences: Sentences) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Sentences that begin alike together, a row each: positions in the text and ids (B × T)."""
    _, ids = _rows(sentences, np.arange(len(sentences.lengths)), SORTED_BY)
    order = np.lexsort(ids.T[::-1])
    size = max(1, WORDS_AT_ONCE // sentences.lengths.max())
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        yield _rows(sentences, chosen, sentences.lengths[chosen].max())


def _rows(sentences: Sentences, chosen: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Places and ids of the first words of some sentences, NO_WORD behind an end (B × T)."""
    lengths = np.minimum(sentences.lengths[chosen], most)
    positions, is_word = (each.T for each in ranges.in_columns(sentences.starts[chosen], lengths))
    return positions, np.where(is_word, sentences.ids[positions], NO_WORD).astype(np.int64)


def _branches(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which words begin a branch, and the branch of each word, numbered step by step (B × T)."""
    begins = np.ones(ids.shape, bool)
    begins[1:] = np.logical_or.accumulate(ids[1:] != ids[:-1], axis=1)
    begins &= ids != NO_WORD
    return begins, np.cumsum(begins.T).reshape(ids.T.shape).T - 1


def _outputs(model: Reader, ids: np.ndarray, begins: np.ndarray) -> Iterator[Tensor]:
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
