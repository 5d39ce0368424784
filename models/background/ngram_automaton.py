"""n-grams as an automaton, the only one: states are contexts, failures shorten them.

An arc leads to the longest context that the symbols so far end in. A symbol that is not listed
after a context follows its failure arc, to the context without its oldest symbol, and is multiplied
by the mass that the context leaves to it.
"""

import numpy as np

from accord.models.background.counts import NGramTables
from accord.models.common.batching import END

ENOUGH = 1e-14  # rounds go on until no mass moves by more
ROUNDS = 100_000


class NGramAutomaton:
    """Nodes of all lengths are numbered consecutively, level by level, and so are arcs."""

    def __init__(self, ngrams: NGramTables):
        self.tables = ngrams.tables
        self.symbols = ngrams.words
        self.nodes = np.cumsum([0, *(len(table.contexts) for table in self.tables)])
        self.first = np.cumsum([0, *(len(table.keys) for table in self.tables)])
        self.symbol = np.concatenate([table.keys % self.symbols for table in self.tables])
        self.of_arc = np.concatenate([table.p for table in self.tables])
        self.backoff = np.concatenate([table.backoff for table in self.tables])
        self.shorter = np.zeros(self.nodes[-1], np.int64)  # the node that a failure leads to
        self.source = np.zeros(self.first[-1], np.int64)  # the node that an arc leaves
        self.next = np.zeros(self.first[-1], np.int64)  # the node that it leads to
        contexts = ngrams.context_words()
        for level, table in enumerate(self.tables):
            nodes, arcs = self._slices(level)
            node = table.keys // self.symbols
            self.source[arcs] = nodes.start + node
            after = np.column_stack([contexts[level][node], self.symbol[arcs]])
            self.next[arcs] = self._longest(ngrams, after)
            if level:
                self.shorter[nodes] = self.nodes[level - 1] + table.contexts // self.symbols
        self.start = int(self._longest(ngrams, np.full((1, 1), END))[0])

    def _longest(self, ngrams: NGramTables, context: np.ndarray) -> np.ndarray:
        """The node of the longest suffix of each context that has one."""
        found = np.zeros(len(context), np.int64)
        for first, node in zip(self.nodes, ngrams.nodes(context), strict=False):
            found = np.where(node >= 0, first + node, found)
        return found

    def ends(self) -> np.ndarray:
        """p of END after each context."""
        p, is_end = np.zeros(self.nodes[-1]), self.symbol == END
        for level in range(len(self.tables)):
            nodes, arcs = self._slices(level)
            if level:
                p[nodes] = self.backoff[nodes] * p[self.shorter[nodes]]
            listed = np.flatnonzero(is_end[arcs]) + arcs.start
            p[self.source[listed]] = self.of_arc[listed]
        return p

    def _slices(self, level: int) -> tuple[slice, slice]:
        """The nodes and the arcs of contexts of one length."""
        nodes, arcs = (each[level : level + 2].tolist() for each in (self.nodes, self.first))
        return slice(*nodes), slice(*arcs)

    def _level(self, node: int) -> int:
        return int(self.nodes.searchsorted(node, side="right")) - 1

    def _listed(self, node: int) -> slice:
        level = self._level(node)
        keys = self.tables[level].keys
        local = node - self.nodes[level]
        begin, end = keys.searchsorted([local * self.symbols, (local + 1) * self.symbols])
        return slice(self.first[level] + begin, self.first[level] + end)

    def p(self, node: int) -> np.ndarray:
        """p of every symbol after a context."""
        arcs = self._listed(node)
        p = self.backoff[node] * self.p(int(self.shorter[node])) if node else np.zeros(self.symbols)
        p[self.symbol[arcs]] = self.of_arc[arcs]
        return p

    def after(self, node: int, symbol: int) -> int:
        """The node after a symbol."""
        arcs = self._listed(node)
        at = arcs.start + int(self.symbol[arcs].searchsorted(symbol))
        if at < arcs.stop and self.symbol[at] == symbol:
            return int(self.next[at])
        return self.after(int(self.shorter[node]), symbol)

    def _lower(self) -> np.ndarray:
        """The arc of the same symbol in the shorter context, which lists all of them."""
        found = np.zeros(self.first[-1], np.int64)
        for level, table in enumerate(self.tables[1:], start=1):
            shorter = (table.contexts // self.symbols)[table.keys // self.symbols]
            key = shorter * self.symbols + table.keys % self.symbols
            below = self.tables[level - 1].keys.searchsorted(key)
            found[self._slices(level)[1]] = self.first[level - 1] + below
        return found

    def mass(self, steps: np.ndarray, accepts: np.ndarray) -> np.ndarray:
        """V of every node and state of an automaton; `steps` moves its state by each symbol."""
        mass = np.zeros((self.nodes[-1], len(accepts)))
        lower = self._lower()
        by_symbol = [np.flatnonzero(self.symbol == symbol) for symbol in range(self.symbols)]
        reached = np.tile(accepts, (len(self.symbol), 1))  # by END; the others follow
        for _ in range(ROUNDS):
            before = mass.copy()
            for symbol, own in enumerate(by_symbol):
                if symbol != END:
                    reached[own] = mass[self.next[own]] @ steps[symbol].T
            weighed = self.of_arc[:, None] * reached
            for level, table in enumerate(self.tables):
                nodes, arcs = self._slices(level)
                starts = table.keys.searchsorted(np.arange(len(table.contexts)) * self.symbols)
                mass[nodes] = np.add.reduceat(weighed[arcs], starts)
                if level:
                    listed_there = np.add.reduceat(weighed[lower[arcs]], starts)
                    left = mass[self.shorter[nodes]] - listed_there
                    mass[nodes] += self.backoff[nodes][:, None] * left
            if np.abs(mass - before).max() < ENOUGH:
                return mass
        raise FloatingPointError("the mass of what matches did not settle")
