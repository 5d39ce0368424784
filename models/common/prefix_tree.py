"""Sentences as a tree of their beginnings.

A *branch* is a word after a beginning. The sentences of an agreement suite differ in few words:
in CLAMS French 753,896 words and ends are 201,987 branches, which leave 114,468 beginnings.
"""

from collections.abc import Iterator

import numpy as np

from accord.models.common.batching import NO_WORD, Sentences, in_columns

TREE_WORDS_AT_ONCE = 1 << 16  # in one tree, padding included
SORTED_BY = 32  # words: few sentences have more in common
COMPARED = 4  # words, to see whether sentences have much in common


def begin_alike(sentences: Sentences) -> bool:
    """Whether most sentences share their beginning with another, so that a tree saves time."""
    _, ids = _rows(sentences, np.arange(len(sentences.lengths)), COMPARED)
    return 2 * len(np.unique(ids, axis=0)) < len(ids)


def trees(sentences: Sentences) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Sentences that begin alike together, a row each: positions in the text and ids (B × T)."""
    _, ids = _rows(sentences, np.arange(len(sentences.lengths)), SORTED_BY)
    order = np.lexsort(ids.T[::-1])
    size = max(1, TREE_WORDS_AT_ONCE // sentences.lengths.max())
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        yield _rows(sentences, chosen, sentences.lengths[chosen].max())


def _rows(sentences: Sentences, chosen: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Places and ids of the first words of some sentences, NO_WORD behind an end (B × T)."""
    lengths = np.minimum(sentences.lengths[chosen], most)
    positions, is_word = (each.T for each in in_columns(sentences.starts[chosen], lengths))
    return positions, np.where(is_word, sentences.ids[positions], NO_WORD).astype(np.int64)


def branches(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which words begin a branch, and the branch of each word, numbered step by step (B × T)."""
    begins = np.ones(ids.shape, bool)
    begins[1:] = np.logical_or.accumulate(ids[1:] != ids[:-1], axis=1)
    begins &= ids != NO_WORD
    return begins, np.cumsum(begins.T).reshape(ids.T.shape).T - 1
