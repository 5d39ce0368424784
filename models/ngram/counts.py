"""Counts of n-grams: sorted keys and numbers, one pair of sorts per order, no loop over words.

A context is a node: the empty context is node 0, and a longer one is known by the node of the
same context without its oldest word, and that word. An n-gram is then its context's node and the
word after it. Both pairs are packed into one number, `pack`, and looked up in a sorted array.

A sentence's start is END as the oldest word of a context, once: no n-gram reaches beyond it.

A context may also be of something else than the last words, such as their classes or some of them
only: a *history* gives it, as columns of numbers below that of the words.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from accord.models.common.batching import END, Sentences
from accord.models.common.checks import check_range

# From a text to what is before each of its words, in columns: first what is forgotten last. END
# stands for the sentence's start, −1 for what is not there.
History = Callable[[Sentences], Iterable[np.ndarray]]
NOTHING = -1


@dataclass(frozen=True, eq=False)
class Level:
    """The n-grams with contexts of one length, by rising key."""

    contexts: np.ndarray  # of each node: (node of the context without its oldest word, that word)
    keys: np.ndarray  # of each n-gram: (node of its context, word)
    counts: np.ndarray  # how often each n-gram occurs; of the empty context all words are listed
    shorter: np.ndarray  # where each n-gram without its oldest word is in the level below
    words: int

    @property
    def nodes(self) -> np.ndarray:
        """The node of each n-gram's context."""
        return self.keys // self.words

    @property
    def at_start(self) -> np.ndarray:
        """Whether each n-gram begins with the sentence's start."""
        return (self.contexts % self.words == END)[self.nodes]


def discount(counts: np.ndarray) -> float:
    """D, what each that was seen loses, by how many were seen once and twice (Ney et al. 1994)."""
    once, twice = np.sum(counts == 1), np.sum(counts == 2)
    return float(once / (once + 2 * twice)) if once and twice else 0.5


def pack(node: np.ndarray, word: np.ndarray, words: int) -> np.ndarray:
    """One number for a pair; pairs are in the order of their numbers."""
    return node * words + word


def count(sentences: Sentences, order: int, words: int) -> list[Level]:
    """The n-grams up to that order, by the length of their contexts: 0 to order − 1."""
    check(sentences, order, words)
    return count_after(sentences.ids, last_words(sentences, order - 1), words)


def last_words(sentences: Sentences, reach: int) -> Iterator[np.ndarray]:
    """The history of plain n-grams: the last word before each word, the last but one…"""
    positions, offset = np.arange(len(sentences.ids)), sentences.offsets
    for back in range(1, reach + 1):
        word = sentences.ids[np.maximum(positions - back, 0)].astype(np.int64)
        yield np.where(offset >= back, word, np.where(offset == back - 1, END, NOTHING))


def count_after(ids: np.ndarray, columns: Iterable[np.ndarray], words: int) -> list[Level]:
    """The words of a text after their contexts, by the columns that these are of: 0 to all."""
    ids = ids.astype(np.int64)
    counts = np.bincount(ids, minlength=words)
    none = np.zeros(0, np.int64)
    levels = [Level(np.zeros(1, np.int64), np.arange(words), counts, none, words)]
    at, node = np.arange(len(ids)), np.zeros(len(ids), np.int64)
    for column in columns:
        is_there = column[at] != NOTHING
        at, node = at[is_there], node[is_there]
        if not len(at):
            raise ValueError(
                f"order: expected a text with contexts of {len(levels)} parts, found none"
            )
        contexts, node = np.unique(pack(node, column[at], words), return_inverse=True)
        keys, counts = np.unique(pack(node, ids[at], words), return_counts=True)
        below = pack(contexts[keys // words] // words, keys % words, words)
        shorter = np.searchsorted(levels[-1].keys, below)
        levels.append(Level(contexts, keys, counts, shorter, words))
    return levels


def contexts_of(rows: Sequence[np.ndarray], words: int) -> list[np.ndarray]:
    """The key of each node, by length from 0, of contexts with all their ends: (N × 1), (N × 2)…"""
    contexts = [np.zeros(1, np.int64)]
    for of_length in rows:
        keys = pack(nodes_of(of_length[:, 1:], contexts, words), of_length[:, 0], words)
        contexts.append(np.unique(keys))
    return contexts


def nodes_of(rows: np.ndarray, contexts: Sequence[np.ndarray], words: int) -> np.ndarray:
    """The nodes of contexts, of which all are there."""
    node = np.zeros(len(rows), np.int64)
    for length in range(1, rows.shape[1] + 1):
        node = np.searchsorted(contexts[length], pack(node, rows[:, -length], words))
    return node


def check(sentences: Sentences, order: int, words: int) -> None:
    if order < 1:
        raise ValueError(f"order: expected 1 or more, got {order}")
    if not len(sentences.ids):
        raise ValueError("sentences: expected text to count, got none")
    longest = int(sentences.lengths.max()) + 1
    if order > longest:
        raise ValueError(
            f"order: expected at most {longest}, the longest sentence with its start; got {order}"
        )
    check_range("sentences", "word ids", sentences.ids, 0, words)
    last = sentences.ids[np.cumsum(sentences.lengths) - 1]
    if (last != END).any():
        at = int(np.argmax(last != END))
        raise ValueError(
            f"sentences: expected END, {END}, to close each; sentence {at} has {last[at]}"
        )
