"""n-grams in numpy: counts, tables, interpolation, Kneser-Ney, and the automaton of them all.

A context is a node: the empty context is node 0, and a longer one is known by the node of the
same context without its oldest word, and that word. An n-gram is then its context's node and the
word after it. Both pairs are packed into one number, `pack`, and looked up in a sorted array.

A sentence's start is END as the oldest word of a context, once: no n-gram reaches beyond it.

A context may also be of something else than the last words, such as their classes or some of them
only: a *history* gives it, as columns of numbers below that of the words.

    p(w | h) = p of the table where hw is listed, else γ(h)·p(w | h′);   γ(h) = 1 if h is not listed

h′ is h without its oldest word. All words are listed after the empty context.

As an automaton, n-grams have contexts as states. An arc leads to the longest context that the
symbols so far end in. A symbol that is not listed after a context follows its failure arc, to the
context without its oldest symbol, and is multiplied by the mass that the context leaves to it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np

from accord.errors import AccordError, NumericalError
from accord.models.common.checks import check_range
from accord.models.data import END, Sentences, preceding

if TYPE_CHECKING:
    from torch import Tensor

# From a text to the history of each of its words, in columns. The first column is the last to be
# dropped in backing off. END stands for the sentence start, −1 for nothing.
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
    """The discount D, from the numbers of n-grams seen once and twice (Ney et al. 1994)."""
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
    """The words of a text after their contexts, for contexts of no column up to all columns."""
    ids = ids.astype(np.int64)
    counts = np.bincount(ids, minlength=words)
    none = np.zeros(0, np.int64)
    levels = [Level(np.zeros(1, np.int64), np.arange(words), counts, none, words)]
    at, node = np.arange(len(ids)), np.zeros(len(ids), np.int64)
    for column in columns:
        is_there = column[at] != NOTHING
        at, node = at[is_there], node[is_there]
        if not len(at):
            raise AccordError(
                f"order: expected a text with contexts of {len(levels)} parts, found none"
            )
        contexts, node = np.unique(pack(node, column[at], words), return_inverse=True)
        keys, counts = np.unique(pack(node, ids[at], words), return_counts=True)
        below = pack(contexts[keys // words] // words, keys % words, words)
        shorter = np.searchsorted(levels[-1].keys, below)
        levels.append(Level(contexts, keys, counts, shorter, words))
    return levels


def contexts_of(rows: Sequence[np.ndarray], words: int) -> list[np.ndarray]:
    """The keys of the nodes of contexts and of all their suffixes, by length from 0."""
    contexts = [np.zeros(1, np.int64)]
    for of_length in rows:
        keys = pack(nodes_of(of_length[:, 1:], contexts, words), of_length[:, 0], words)
        contexts.append(np.unique(keys))
    return contexts


def nodes_of(rows: np.ndarray, contexts: Sequence[np.ndarray], words: int) -> np.ndarray:
    """The nodes of contexts that all exist."""
    node = np.zeros(len(rows), np.int64)
    for length in range(1, rows.shape[1] + 1):
        node = np.searchsorted(contexts[length], pack(node, rows[:, -length], words))
    return node


def check(sentences: Sentences, order: int, words: int) -> None:
    if order < 1:
        raise AccordError(f"order: expected 1 or more, got {order}")
    if not len(sentences.ids):
        raise AccordError("sentences: expected text to count, got none")
    longest = int(sentences.lengths.max()) + 1
    if order > longest:
        raise AccordError(
            f"order: expected at most {longest}, the longest sentence with its start; got {order}"
        )
    check_range("sentences", "word ids", sentences.ids, 0, words)
    last = sentences.ids[np.cumsum(sentences.lengths) - 1]
    if (last != END).any():
        at = int(np.argmax(last != END))
        raise AccordError(
            f"sentences: expected END, {END}, to close each; sentence {at} has {last[at]}"
        )


Numbers = TypeVar("Numbers", np.ndarray, "Tensor")


class Table(NamedTuple, Generic[Numbers]):
    """The n-grams with contexts of one length, keys as in `Level`."""

    contexts: Numbers  # key of each node, rising
    keys: Numbers  # key of each n-gram, rising
    p: Numbers  # p(w | h) of each n-gram
    backoff: Numbers  # γ(h) of each node


Tables = list[Table[np.ndarray]]  # by the length of their contexts, from 0


def interpolated_tables(levels: Sequence[Level], weights: Callable, base: np.ndarray) -> Tables:
    """The tables of p(w | h) = a(hw) + γ(h)·p(w | h′), level by level; weights give a and γ."""
    tables, below = [], base
    for number, level in enumerate(levels):
        a, backoff = weights(number)
        p = a + backoff[level.nodes] * (below[level.shorter] if number else below)
        tables.append(Table(level.contexts, level.keys, p, backoff))
        below = p
    return tables


def kneser_ney_tables(levels: Sequence[Level], base: np.ndarray) -> Tables:
    """Modified Kneser-Ney, interpolated (Chen & Goodman 1998), as KenLM estimates it.

        a(hw) = (c(hw) − D(c(hw))) / c(h),    γ(h) = Σ_w D(c(hw)) / c(h)

    c counts occurrences at the highest order and for n-grams that begin a sentence; for all
    others it counts in how many different words' company, to the left, the n-gram occurs.
    """
    counts = [level.counts for level in levels]
    for number in range(len(levels) - 1):
        level, above = levels[number], levels[number + 1]
        company = np.bincount(above.shorter, minlength=len(level.keys))
        counts[number] = np.where(level.at_start, level.counts, company) if number else company

    def weights(number: int) -> tuple[np.ndarray, np.ndarray]:
        level, c = levels[number], counts[number]
        lost = discounts(c)[np.minimum(c, 3)]
        total = np.bincount(level.nodes, c)
        return (c - lost) / total[level.nodes], np.bincount(level.nodes, lost) / total

    return interpolated_tables(levels, weights, base)


def discounts(counts: np.ndarray) -> np.ndarray:
    """The discount of an n-gram that was counted 0, 1, 2, or 3 and more times.

    D_k = k − (k + 1)·Y·n_{k+1}/n_k with Y = n₁/(n₁ + 2n₂), n_k n-grams being counted k times. If
    the text is too small for this, KenLM's fallback is used: half of k.
    """
    n = np.bincount(np.minimum(counts, 5), minlength=6)[:5].astype(np.float64)
    fallback = np.array([0, 0.5, 1, 1.5])
    if not n[1:].all():
        return fallback
    k = np.arange(1, 4)
    found = k - (k + 1) * n[1] / (n[1] + 2 * n[2]) * n[2:] / n[1:4]
    return np.concatenate(([0], found)) if ((found >= 0) & (found <= k)).all() else fallback


class NGramTables:
    """The tables as numpy reads them; `NGrams` is the same in torch."""

    def __init__(self, tables: Tables, words: int):
        self.tables, self.words, self.order = tables, words, len(tables)

    def score(self, sentences: Sentences) -> np.ndarray:
        """log p of every word of every sentence in order, END included, in nats."""
        words = sentences.ids.astype(np.int64)
        nodes = self.nodes(preceding(sentences, self.order - 1, END))
        p = self.tables[0].p[words]
        for table, node in zip(self.tables[1:], nodes[1:], strict=True):
            at = _find(table.keys, node, words, self.words)
            backoff = np.where(node >= 0, table.backoff[node], 1)
            p = np.where(at >= 0, table.p[at], backoff * p)
        return np.log(p)

    def distributions(self, nodes: Sequence[np.ndarray]) -> np.ndarray:
        """p of every word after each context, given by its nodes: (N × V)."""
        p = np.tile(self.tables[0].p, (len(nodes[0]), 1))
        for table, of_level in zip(self.tables[1:], nodes[1:], strict=True):
            for row in np.flatnonzero(of_level >= 0).tolist():
                first = of_level[row] * self.words  # the key that the context has with word 0
                start, end = np.searchsorted(table.keys, [first, first + self.words])
                p[row] *= table.backoff[of_level[row]]
                p[row, table.keys[start:end] - first] = table.p[start:end]
        return p

    def nodes(self, context: np.ndarray) -> list[np.ndarray]:
        """The node of each context's last 0, 1, 2… words, −1 where they are not listed.

        Negative numbers stand for no word. A sentence's start ends the context by itself, as no
        listed context goes beyond it.
        """
        nowhere = np.full(len(context), NOTHING)
        found = [np.zeros(len(context), np.int64)]
        for length, table in enumerate(self.tables[1:], start=1):
            oldest = context[:, -length] if length <= context.shape[1] else nowhere
            found.append(_find(table.contexts, found[-1], oldest, self.words))
        return found

    def context_words(self) -> list[np.ndarray]:
        """The words of each node's context, the oldest first: for each length (nodes × length)."""
        found = [np.zeros((len(self.tables[0].contexts), 0), np.int64)]
        for table in self.tables[1:]:
            node, oldest = np.divmod(table.contexts, self.words)
            found.append(np.column_stack([oldest, found[-1][node]]))
        return found


def _find(keys: np.ndarray, node: np.ndarray, word: np.ndarray, words: int) -> np.ndarray:
    """Where the pair is among sorted keys; −1 where it is not, or one of the two is negative."""
    wanted = pack(node, word, words)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where((keys[at] == wanted) & (node >= 0) & (word >= 0), at, -1)


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
        raise NumericalError("the mass of what matches did not settle")
