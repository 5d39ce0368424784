"""How words begin: what letters followed each beginning, in the words of each class.

Beginnings are the nodes of a tree: 0 is the empty one, and a longer one is known by the node of the
same without its last symbol, and that symbol. Sorted keys, no loop over words.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from accord.models.common import ranges


class Followed(NamedTuple):
    """What followed beginnings in the words of some classes, for each of some strings."""

    string: np.ndarray
    kind: np.ndarray  # the class
    total: np.ndarray  # how many of its words begin so
    different: np.ndarray  # how many symbols followed in them
    seen: np.ndarray  # how many go on as the string does


class Begun:
    """n_s(hc): how many words of class s begin with h and go on with c."""

    def __init__(
        self,
        children: np.ndarray,
        entries: np.ndarray,
        counts: np.ndarray,
        symbols: int,
        classes: int,
    ):
        """`children`: (node, symbol) of the nodes from 1 on; `entries`: (node, class, symbol)."""
        self.children, self.entries, self.counts = children, entries, counts
        self.symbols, self.classes = symbols, classes
        groups = entries // symbols  # (node, class)
        self.starts = np.flatnonzero(np.diff(groups, prepend=-1))
        self.different = np.diff(self.starts, append=len(entries))
        self.total = np.add.reduceat(counts, self.starts)
        node, self.kind = np.divmod(groups[self.starts], classes)
        self.of_node = np.searchsorted(node, np.arange(len(children) + 2))

    @classmethod
    def count(
        cls,
        words: Sequence[Sequence[int]],
        kinds: np.ndarray,
        depth: int,
        symbols: int,
        classes: int,
    ) -> "Begun":
        """Of the first `depth` symbols of each word."""
        lengths = np.array([min(len(word), depth) for word in words])
        letters = np.array([symbol for word in words for symbol in word[:depth]], np.int64)
        starts, kinds = np.cumsum(lengths) - lengths, np.asarray(kinds, np.int64)
        node, word, first = np.zeros(len(words), np.int64), np.arange(len(words)), 1
        children, entries = [], []
        for place in range(depth):
            on = lengths[word] > place
            node, word = node[on], word[on]
            symbol = letters[starts[word] + place]
            entries.append((node * classes + kinds[word]) * symbols + symbol)
            on = lengths[word] > place + 1
            word = word[on]
            keys, node = np.unique(node[on] * symbols + symbol[on], return_inverse=True)
            node, first = node + first, first + len(keys)
            children.append(keys)
        keys, counts = np.unique(np.concatenate(entries), return_counts=True)
        return cls(np.concatenate(children), keys, counts, symbols, classes)

    def child(self, node: np.ndarray, symbol: np.ndarray) -> np.ndarray:
        """The node of each beginning with one more symbol, −1 where no word begins so."""
        at = _find(self.children, node * self.symbols + symbol)
        return np.where(node >= 0, np.where(at >= 0, at + 1, -1), -1)

    def followed(self, node: np.ndarray, symbol: np.ndarray) -> Followed:
        """What followed the beginnings of strings, and how often the symbol that follows there."""
        sizes = self.of_node[node + 1] - self.of_node[node]
        group = ranges.in_a_row(self.of_node[node], sizes)
        string = np.repeat(np.arange(len(node)), sizes)
        wanted = (node[string] * self.classes + self.kind[group]) * self.symbols + symbol[string]
        at = _find(self.entries, wanted)
        seen = np.where(at >= 0, self.counts[at], 0)
        kind, total, different = self.kind[group], self.total[group], self.different[group]
        return Followed(string, kind, total, different, seen)

    def after(self, node: int, kind: int) -> np.ndarray | None:
        """How often each symbol followed one beginning in words of one class; None if none did."""
        first = (node * self.classes + kind) * self.symbols
        start, end = np.searchsorted(self.entries, [first, first + self.symbols])
        if node < 0 or start == end:
            return None
        return np.bincount(self.entries[start:end] - first, self.counts[start:end], self.symbols)


def _find(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where each is among sorted keys, −1 where it is not."""
    if not len(keys):
        return np.full(len(wanted), -1)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, at, -1)
