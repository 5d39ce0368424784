"""Regular expressions whose letters are tests of words: `DET ADJ* (NOUN | PROPN)`.

Each test in the expression is a position. Which positions may come first, last, and after each
other (Glushkov 1961) is an automaton without empty steps; sets of its positions are the states of
a deterministic one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

PIECE = r"/(?:\\.|[^/\\\s])+/(?=[\s()|*+?&]|$)|[^\s()|*+?&\"]+"  # /an.*eur/ is one, as km/h is
TOKEN = re.compile(rf'\s*("[^"]*"|[()|*+?]|(?:{PIECE})(?:&(?:{PIECE}))*|$)')
REPEAT = ("*", "+", "?")
FORBIDDEN = -1
MOST_STATES, MOST_TESTS, DEEPEST = 10_000, 1_000, 100  # of the automaton; words; brackets
SHOWN = 100  # letters of an expression in an error


class Part(NamedTuple):
    """What matters of a part of an expression: whether it may be empty, and its ends."""

    nullable: bool = True
    first: frozenset[int] = frozenset()
    last: frozenset[int] = frozenset()


@dataclass
class Expression:
    """A parsed expression: its tests in order, and which of them may follow which."""

    text: str
    tests: list[str] = field(default_factory=list)
    after: list[set[int]] = field(default_factory=list)

    def __post_init__(self):
        self._tokens = [*self._tokenised()]
        self._check_size()
        self.whole = self._alternatives()
        if self._tokens:
            raise self._wrong("the end", self._tokens[0])

    def reversed(self) -> "Expression":
        """The same of what is read from its end."""
        places = range(len(self.tests))
        self.after = [{before for before in places if at in self.after[before]} for at in places]
        self.whole = self.whole._replace(first=self.whole.last, last=self.whole.first)
        return self

    def automaton(self, obeys: np.ndarray, end: int) -> np.ndarray:
        """`follow` of an Automaton (Q × G) that holds sentences to the expression as a whole.

        `obeys` (P × G) says which groups of words pass each test; the group `end` closes a
        sentence. What no sentence can be completed from is forbidden. `states` are then the tests
        that the last word may have passed, of each state.
        """
        states: dict[frozenset[int] | None, int] = {None: 0}  # None: nothing has been read
        rows, accepts, found = [], [], [None]
        for state in found:  # which grows meanwhile
            read = (
                self.whole.first
                if state is None
                else set().union(*map(self.after.__getitem__, state))
            )
            is_whole = self.whole.nullable if state is None else bool(self.whole.last & state)
            row = np.full(obeys.shape[1], FORBIDDEN)
            for group in np.flatnonzero(obeys[sorted(read)].any(axis=0)):
                reached = frozenset(place for place in read if obeys[place, group])
                if reached not in states:
                    states[reached] = len(states)
                    found.append(reached)
                row[group] = states[reached]
            if len(states) > MOST_STATES:
                raise self._too_large(f"at most {MOST_STATES:,} states")
            rows.append(row)
            accepts.append(is_whole)
        self.states = found
        return self._trimmed(np.array(rows), np.array(accepts), end)

    def _trimmed(self, follow: np.ndarray, accepts: np.ndarray, end: int) -> np.ndarray:
        alive = accepts.copy()
        while (more := ~alive & (alive[follow] & (follow >= 0)).any(axis=1)).any():
            alive |= more
        if not alive[0]:
            raise ValueError(f"'{self.text:.{SHOWN}}': no sentence of known words matches")
        follow[~alive[follow]] = FORBIDDEN
        follow[:, end] = np.where(accepts, np.arange(len(follow)), FORBIDDEN)
        return follow

    def _tokenised(self) -> Iterator[str]:
        place = 0
        while place < len(self.text):
            found = TOKEN.match(self.text, place)
            if not found:
                raise self._wrong('a closing "', self.text[place:])
            if found[1]:
                yield found[1]
            place = max(found.end(), place + 1)

    def _check_size(self) -> None:
        """Brackets are parsed within brackets, and what may follow what is a table of tests."""
        tests, depth, deepest = 0, 0, 0
        for token in self._tokens:
            tests += token not in ("(", ")", "|", *REPEAT)
            depth += (token == "(") - (token == ")")
            deepest = max(deepest, depth)
        if tests > MOST_TESTS:
            raise self._too_large(f"at most {MOST_TESTS:,} words")
        if deepest > DEEPEST:
            raise self._too_large(f"brackets at most {DEEPEST} deep")

    def _alternatives(self) -> Part:
        part = self._sequence()
        while self._tokens[:1] == ["|"]:
            self._tokens.pop(0)
            other = self._sequence()
            part = Part(
                part.nullable or other.nullable, part.first | other.first, part.last | other.last
            )
        return part

    def _sequence(self) -> Part:
        part = Part()
        while self._tokens and self._tokens[0] not in ("|", ")"):
            other = self._repeated()
            self._link(part.last, other.first)
            part = Part(
                part.nullable and other.nullable,
                part.first | other.first if part.nullable else part.first,
                part.last | other.last if other.nullable else other.last,
            )
        return part

    def _repeated(self) -> Part:
        part = self._single()
        while self._tokens and self._tokens[0] in REPEAT:
            sign = self._tokens.pop(0)
            if sign != "?":
                self._link(part.last, part.first)
            part = part._replace(nullable=part.nullable or sign != "+")
        return part

    def _single(self) -> Part:
        token = self._tokens.pop(0)
        if token in REPEAT:
            raise self._wrong("a test or a bracket", token)
        if token == "(":
            part = self._alternatives()
            if self._tokens[:1] != [")"]:
                raise self._wrong(")", self._tokens[0] if self._tokens else "the end")
            self._tokens.pop(0)
            return part
        self.tests.append(token)
        self.after.append(set())
        place = frozenset({len(self.tests) - 1})
        return Part(False, place, place)

    def _link(self, last: frozenset[int], first: frozenset[int]) -> None:
        for place in last:
            self.after[place] |= first

    def _wrong(self, expected: str, found: str) -> ValueError:
        return ValueError(f"'{self.text:.{SHOWN}}': expected {expected}, found '{found:.{SHOWN}}'")

    def _too_large(self, expected: str) -> ValueError:
        return ValueError(f"'{self.text:.{SHOWN}}': expected {expected}")
