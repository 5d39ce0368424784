"""n-grams as an automaton, the only one: states are contexts, failures shorten them.

What is not listed after a context goes by way of the context without its oldest symbol.

An arc leads to the longest context that the words so far end in, a failure to the context without
its oldest word.
"""

import numpy as np
import torch

from accord.models.background.ngrams import END, NGrams, Table
from accord.models.spelling.spelling import STOP
from accord.models.zoo.wfst import Arcs, WeightedAutomaton

ENOUGH = 1e-14  # rounds go on until no mass moves by more
ROUNDS = 100_000


class NGramArcs:
    """Nodes of all lengths are numbered in a row, and so are arcs, each level after the other."""

    def __init__(self, ngrams: NGrams):
        self.tables = [Table(*(each.numpy() for each in table)) for table in ngrams.tables]
        self.symbols = ngrams.words
        self.nodes = np.cumsum([0, *(len(table.contexts) for table in self.tables)])
        self.first = np.cumsum([0, *(len(table.keys) for table in self.tables)])
        self.symbol = np.concatenate([table.keys % self.symbols for table in self.tables])
        self.of_arc = np.concatenate([table.p for table in self.tables])
        self.backoff = np.concatenate([table.backoff for table in self.tables])
        self.shorter = np.zeros(self.nodes[-1], np.int64)  # the node without the oldest symbol
        self.lower = np.zeros(self.first[-1], np.int64)  # the arc of the same symbol there
        self.next = np.zeros(self.first[-1], np.int64)  # the node that an arc leads to
        self._link()
        oldest = self.tables[1].contexts.searchsorted(STOP) if len(self.tables) > 1 else 0
        self.start = int(self.nodes[1] + oldest) if len(self.tables) > 1 else 0

    def _link(self) -> None:
        """From the shortest contexts up: hc is a node if h′c is one that h's oldest lengthens."""
        size, exact = self.symbols, np.zeros(0, np.int64)  # the node hc of each arc, −1 if none
        for level, table in enumerate(self.tables):
            source, symbol = table.keys // size, table.keys % size
            nodes, arcs = self._slices(level)
            key, is_known, below = symbol, np.ones(len(symbol), bool), 0  # c alone, after nothing
            if level:
                shorter, oldest = table.contexts // size, table.contexts % size
                lower = self.tables[level - 1].keys.searchsorted(shorter[source] * size + symbol)
                key, is_known = exact[lower] * size + oldest[source], exact[lower] >= 0
                self.shorter[nodes] = self.nodes[level - 1] + shorter
                self.lower[arcs] = self.first[level - 1] + lower
                below = self.next[self.lower[arcs]]
            longer = self.tables[level + 1].contexts if level + 1 < len(self.tables) else key[:0]
            found = np.minimum(longer.searchsorted(key), max(len(longer) - 1, 0))
            if len(longer):
                is_known = is_known & (longer[found] == key)
            exact = np.where(is_known & (len(longer) > 0), found, -1)
            self.next[arcs] = np.where(exact >= 0, nodes.stop + exact, below)

    def _slices(self, level: int) -> tuple[slice, slice]:
        """The nodes and the arcs of contexts of one length."""
        return tuple(slice(*each[level : level + 2].tolist()) for each in (self.nodes, self.first))

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

    def mass(self, steps: np.ndarray, accepts: np.ndarray) -> np.ndarray:
        """V of every node and state of an automaton, which each symbol moves by `steps`."""
        mass = np.zeros((self.nodes[-1], len(accepts)))
        by_symbol = [np.flatnonzero(self.symbol == symbol) for symbol in range(self.symbols)]
        reached = np.tile(accepts, (len(self.symbol), 1))  # by STOP; the others follow
        for _ in range(ROUNDS):
            before = mass.copy()
            for symbol, arcs in enumerate(by_symbol):
                if symbol != STOP:
                    reached[arcs] = mass[self.next[arcs]] @ steps[symbol].T
            weighed = self.of_arc[:, None] * reached
            for level, table in enumerate(self.tables):
                nodes, arcs = self._slices(level)
                starts = table.keys.searchsorted(np.arange(len(table.contexts)) * self.symbols)
                mass[nodes] = np.add.reduceat(weighed[arcs], starts)
                if level:
                    listed_there = np.add.reduceat(weighed[self.lower[arcs]], starts)
                    left = mass[self.shorter[nodes]] - listed_there
                    mass[nodes] += self.backoff[nodes][:, None] * left
            if np.abs(mass - before).max() < ENOUGH:
                return mass
        raise FloatingPointError("the mass of what matches did not settle")


def ngram_automaton(model: NGrams) -> WeightedAutomaton:
    sizes = [len(table.contexts) for table in model.tables]
    first = np.cumsum([0, *sizes])[:-1]  # state of each length of contexts
    contexts = model.context_words()
    arcs, failures, ends = [], [], []
    for length, table in enumerate(model.tables):
        ends.append(_ends(model, contexts[length]))
        if length:
            states = first[length] + np.arange(sizes[length])
            shorter = first[length - 1] + (table.contexts // model.words).numpy()
            failures.append(Arcs(states, shorter, np.zeros_like(states), table.backoff.numpy()))
        is_arc = table.keys % model.words != END
        node, word = (
            part[is_arc] for part in (table.keys // model.words, table.keys % model.words)
        )
        to = _longest(model, torch.cat([contexts[length][node], word.unsqueeze(1)], dim=1), first)
        arcs.append(Arcs((first[length] + node).numpy(), to, word.numpy(), table.p[is_arc].numpy()))
    start = _longest(model, torch.full((1, 1), END), first)[0]
    return WeightedAutomaton(
        model.words, start, np.concatenate(ends), _joined(arcs), _joined(failures)
    )


def _joined(parts: list[Arcs]) -> Arcs:
    nothing = np.zeros(0, np.int64)
    return Arcs(*map(np.concatenate, zip(*parts, strict=True))) if parts else Arcs(*[nothing] * 4)


def _ends(model: NGrams, contexts: torch.Tensor) -> np.ndarray:
    """p of the sentence's end after each context."""
    end = torch.full((len(contexts),), END)
    return model.p(model.nodes(contexts), end).numpy()


def _longest(model: NGrams, context: torch.Tensor, first: np.ndarray) -> np.ndarray:
    """The state of the longest end of each context that is one."""
    state = np.zeros(len(context), np.int64)
    for length, node in enumerate(model.nodes(context)):
        node = node.numpy()
        state = np.where(node >= 0, first[length] + node, state)
    return state
