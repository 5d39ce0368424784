"""Strings that match an expression, as a spelling model of n-grams writes them: their exact mass.

    V(h, q) = p(STOP | h)·[q accepts] + Σ_c p(c | h)·V(hc, δ(q, c))

is the mass of all ways to go on that match, h being what was written and q the automaton's state
after it. By p(c | h) = γ(h)·p(c | h′) for all c that are not listed after h, V(h) differs from
γ(h)·V(h′) by the listed c alone; so a round costs the n-grams and not all contexts times all
letters. Rounds go on until nothing moves any more.
"""

from functools import cached_property

import numpy as np

from accord.errors import AccordError, NumericalError
from accord.models.constraints import DIGITS, OTHER, letters
from accord.models.data import END
from accord.models.ngrams import NGramTables
from accord.models.spelling.spelling import STOP, NGramSpelling

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
            longer = np.column_stack([contexts[level][node], self.symbol[arcs]])
            self.next[arcs] = self._longest(ngrams, longer)
            if level:
                self.shorter[nodes] = self.nodes[level - 1] + table.contexts // self.symbols
        self.start = int(self._longest(ngrams, np.full((1, 1), END))[0])

    def _longest(self, ngrams: NGramTables, context: np.ndarray) -> np.ndarray:
        """Return the node of the longest suffix of each context that has one."""
        longest = np.zeros(len(context), np.int64)
        for first, node in zip(self.nodes, ngrams.nodes(context), strict=False):
            longest = np.where(node >= 0, first + node, longest)
        return longest

    def ends(self) -> np.ndarray:
        """Return p of END after each context."""
        p, is_end = np.zeros(self.nodes[-1]), self.symbol == END
        for level in range(len(self.tables)):
            nodes, arcs = self._slices(level)
            if level:
                p[nodes] = self.backoff[nodes] * p[self.shorter[nodes]]
            listed = np.flatnonzero(is_end[arcs]) + arcs.start
            p[self.source[listed]] = self.of_arc[listed]
        return p

    def _slices(self, level: int) -> tuple[slice, slice]:
        """Return the nodes and the arcs of contexts of one length."""
        nodes, arcs = (starts[level : level + 2].tolist() for starts in (self.nodes, self.first))
        return slice(*nodes), slice(*arcs)

    def _listed(self, node: int) -> slice:
        """Return the arcs that leave a node."""
        level = int(self.nodes.searchsorted(node, side="right")) - 1
        keys = self.tables[level].keys
        local = node - self.nodes[level]
        begin, end = keys.searchsorted([local * self.symbols, (local + 1) * self.symbols])
        return slice(self.first[level] + begin, self.first[level] + end)

    def p(self, node: int) -> np.ndarray:
        """Return p of every symbol after a context."""
        arcs = self._listed(node)
        p = self.backoff[node] * self.p(int(self.shorter[node])) if node else np.zeros(self.symbols)
        p[self.symbol[arcs]] = self.of_arc[arcs]
        return p

    def step(self, node: int, symbol: int) -> int:
        """Return the node after a symbol."""
        arcs = self._listed(node)
        at = arcs.start + int(self.symbol[arcs].searchsorted(symbol))
        if at < arcs.stop and self.symbol[at] == symbol:
            return int(self.next[at])
        return self.step(int(self.shorter[node]), symbol)

    def mass(self, steps: np.ndarray, accepts: np.ndarray) -> np.ndarray:
        """Return V of every node and state; `steps` moves the automaton's state by each symbol."""
        mass = np.zeros((self.nodes[-1], len(accepts)))
        lower = np.zeros(self.first[-1], np.int64)  # the arc of the symbol in the shorter context
        for level, table in enumerate(self.tables[1:], start=1):
            shorter = (table.contexts // self.symbols)[table.keys // self.symbols]
            key = shorter * self.symbols + table.keys % self.symbols
            below = self.tables[level - 1].keys.searchsorted(key)
            lower[self._slices(level)[1]] = self.first[level - 1] + below
        by_symbol = [np.flatnonzero(self.symbol == symbol) for symbol in range(self.symbols)]
        reached = np.tile(accepts, (len(self.symbol), 1))  # by END; the others follow
        for _ in range(ROUNDS):
            previous = mass.copy()
            for symbol, arcs_of_symbol in enumerate(by_symbol):
                if symbol != END:
                    reached[arcs_of_symbol] = mass[self.next[arcs_of_symbol]] @ steps[symbol].T
            weighed = self.of_arc[:, None] * reached
            for level, table in enumerate(self.tables):
                nodes, arcs = self._slices(level)
                starts = table.keys.searchsorted(np.arange(len(table.contexts)) * self.symbols)
                mass[nodes] = np.add.reduceat(weighed[arcs], starts)
                if level:
                    listed_there = np.add.reduceat(weighed[lower[arcs]], starts)
                    left = mass[self.shorter[nodes]] - listed_there
                    mass[nodes] += self.backoff[nodes][:, None] * left
            if np.abs(mass - previous).max() < ENOUGH:
                return mass
        raise NumericalError("the mass of what matches did not settle")


History = tuple[int, ...]  # the symbols of a word so far, its last one first


class Matching:
    """spell(u | s) / m_s for the strings that match; m_s is their total mass."""

    def __init__(self, spelling: NGramSpelling, expression: str):
        if not isinstance(spelling, NGramSpelling):
            raise AccordError(
                "expected a model that spells by n-grams (background.spelling: ngram), as of no "
                "other the mass of all strings that match can be computed"
            )
        self.spelling, self.dfa = spelling, letters(expression, spelling.alphabet)
        self.arcs = NGramAutomaton(spelling.ngrams)
        states, symbols = len(self.dfa.follow), len(spelling.alphabet)
        steps = np.zeros((symbols, states, states))  # by each symbol, from state to state
        for at, symbol in enumerate(self.dfa.symbol):
            alive = np.flatnonzero(self.dfa.follow[:, at] >= 0)
            steps[symbol, alive, self.dfa.follow[alive, at]] += self.dfa.share[at]
        self.steps, self.shared = steps, self.arcs.mass(steps, self.dfa.accepts.astype(float))
        self.begun: dict[tuple[int, History, int], float] = {}
        self.nodes: dict[History, int] = {(): 0}  # where a word so far stands among the beginnings

    @cached_property
    def log_mass(self) -> np.ndarray:
        """Return log m_s of each class, in nats."""
        spelling, start = self.spelling, self.arcs.start
        written = np.array([self._mass(s, (), start, 0) for s in range(spelling.classes)])
        empty = -np.expm1(spelling.not_empty) * self.dfa.accepts[0]  # which is never written
        of_letters = np.maximum(written - empty, 0) / np.exp(spelling.not_empty)
        with np.errstate(divide="ignore"):
            return np.log((1 - spelling.numbers) * of_letters + spelling.numbers * self._numbers[0])

    def draw(self, kind: int, generator: np.random.Generator) -> str:
        """Draw a string of a class from those that match."""
        number = np.log(self.spelling.numbers[kind] * self._numbers[0] or 1e-300)
        if generator.random() < np.exp(number - self.log_mass[kind]):
            return self._draw_number(generator)
        written: list[str] = []
        history: History = ()
        node, state = self.arcs.start, 0
        while True:
            chances = self._chances(kind, history, node, state)
            choice = int(generator.choice(len(chances), p=chances / chances.sum()))
            if choice == len(self.dfa.characters):
                return "".join(reversed(written))
            character, symbol = self.dfa.characters[choice], int(self.dfa.symbol[choice])
            written.append(self._other(generator) if character == OTHER else character)
            history, node = (*history, symbol), self.arcs.step(node, symbol)
            state = int(self.dfa.follow[state, choice])

    def _mass(self, kind: int, history: History, node: int, state: int) -> float:
        """Return V for a class: its own beginnings, and those that all classes share."""
        seen = self._seen(history, kind)
        if seen is None:
            return float(self.shared[node, state])
        key = kind, history, state
        if key not in self.begun:
            of_all = self.arcs.p(node)
            of_class, kept = self._of_class(seen, of_all)
            mass = kept * self.shared[node, state]
            mass += (of_class - kept * of_all)[STOP] * self.dfa.accepts[state]
            for symbol in {*np.flatnonzero(seen).tolist()} - {STOP}:
                then, follows = self.arcs.step(node, symbol), self.steps[symbol, state]
                for to in np.flatnonzero(follows).tolist():
                    of_own = of_class[symbol] * self._mass(kind, (*history, symbol), then, to)
                    mass += follows[to] * (of_own - kept * of_all[symbol] * self.shared[then, to])
            self.begun[key] = mass
        return self.begun[key]

    def _seen(self, history: History, kind: int) -> np.ndarray | None:
        """Return how often each symbol followed in words of a class; None if none did."""
        if history not in self.nodes:
            shorter = self.nodes[history[:-1]]
            (node,) = self.spelling.begun.child(np.array([shorter]), np.array(history[-1:]))
            self.nodes[history] = int(node)
        return self.spelling.begun.counts_after(self.nodes[history], kind)

    def _of_class(self, seen: np.ndarray, of_all: np.ndarray) -> tuple[np.ndarray, float]:
        """Return p of each symbol in a class, and the part of it that all classes share."""
        counted, of_class = (seen.sum(), np.count_nonzero(seen)), self.spelling.of_class
        return of_class(seen, *counted, of_all), of_class(0, *counted, 1.0)

    def _chances(self, kind: int, history: History, node: int, state: int) -> np.ndarray:
        """Return p of each character and, last, of the end, times the mass that then matches."""
        p = self.arcs.p(node)
        seen = self._seen(history, kind)
        if seen is not None:
            p, _ = self._of_class(seen, p)
        chances = np.zeros(len(self.dfa.characters) + 1)
        for character in np.flatnonzero(self.dfa.follow[state] >= 0).tolist():
            symbol, to = int(self.dfa.symbol[character]), int(self.dfa.follow[state, character])
            mass = self._mass(kind, (*history, symbol), self.arcs.step(node, symbol), to)
            chances[character] = p[symbol] * self.dfa.share[character] * mass
        chances[-1] = p[STOP] * self.dfa.accepts[state] if history else 0.0
        return chances

    @cached_property
    def _numbers(self) -> tuple[float, np.ndarray]:
        """Return the mass of matching numbers, and that which matches after a digit, by state."""
        stop, steps = 1 / self.spelling.length, np.zeros((len(self.dfa.follow),) * 2)
        for follow in self.dfa.follow[:, self._digits].T:
            steps[follow >= 0, follow[follow >= 0]] += 1 / len(DIGITS)
        following = np.linalg.solve(
            np.eye(len(steps)) - (1 - stop) * steps, stop * self.dfa.accepts
        )
        return float(steps[0] @ following), following

    @property
    def _digits(self) -> list[int]:
        return [self.dfa.characters.index(digit) for digit in DIGITS]

    def _draw_number(self, generator: np.random.Generator) -> str:
        written: list[str] = []
        state, stop = 0, 1 / self.spelling.length
        while True:
            follow = self.dfa.follow[state, self._digits]
            chances = np.where(follow >= 0, self._numbers[1][follow], 0) / len(DIGITS)
            over = stop * self.dfa.accepts[state] if written else 0.0
            chances = np.append(chances * (1 - stop if written else 1.0), over)
            choice = int(generator.choice(len(chances), p=chances / chances.sum()))
            if choice == len(DIGITS):
                return "".join(reversed(written))
            written.append(DIGITS[choice])
            state = follow[choice]

    def _other(self, generator: np.random.Generator) -> str:
        while (character := self.spelling.alphabet.other(generator)) in self.dfa.characters:
            pass
        return character
