r"""Automata over words and letters, and the expressions that they are made of (Glushkov).

Each test in the expression is a position. Which positions may come first, last, and after each
other (Glushkov 1961) is an automaton without empty steps; sets of its positions are the states of
a deterministic one.

A character, `.`, `[aeiou]`, `[^a-z]`, `\d`, and `( ) | * + ?` mean what they do in Python's `re`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from accord.errors import AccordError
from accord.models.common.checks import check_range
from accord.models.data import Sentences
from accord.models.spelling.spelling import ESCAPE, Alphabet

PIECE = r"/(?:\\.|[^/\\\s])+/(?=[\s()|*+?&]|$)|[^\s()|*+?&\"]+"  # /an.*eur/ is one, as km/h is
TOKEN = re.compile(rf'\s*("[^"]*"|[()|*+?]|(?:{PIECE})(?:&(?:{PIECE}))*|$)')
REPEAT = ("*", "+", "?")
FORBIDDEN = -1
MOST_STATES, MOST_TESTS, DEEPEST = 10_000, 1_000, 100  # of the automaton; words; brackets
SHOWN = 100  # letters of an expression in an error


class Piece(NamedTuple):
    """A part of an expression: whether it may be empty, its first and its last positions."""

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
        self._tokens.reverse()  # the next one is the last: taking it moves no other
        self.whole = self._alternatives()
        if self._tokens:
            raise self._wrong("the end", self._tokens[-1])

    def reversed(self) -> "Expression":
        """Return the same expression, read from its end."""
        places = range(len(self.tests))
        self.after = [{before for before in places if at in self.after[before]} for at in places]
        self.whole = self.whole._replace(first=self.whole.last, last=self.whole.first)
        return self

    def automaton(self, obeys: np.ndarray, end: int) -> np.ndarray:
        """Return `follow` (Q × G) of an automaton that accepts the matching sentences.

        `obeys` (P × G) says which groups of words pass each test; the group `end` closes a
        sentence. States from which no sentence can be completed are forbidden. `states` has, for
        each state, the tests that the last word may have passed.
        """
        # Groups that pass the same tests lead to the same states: each kind is followed once.
        _, first, kind = np.unique(obeys, axis=1, return_index=True, return_inverse=True)
        kinds = np.sort(first)
        kind = np.argsort(np.argsort(first))[kind.reshape(-1)]
        obeys = obeys[:, kinds]
        states: dict[frozenset[int] | None, int] = {None: 0}  # None: nothing has been read
        reached_sets: list[frozenset[int] | None] = [None]
        rows, accepts = [], []
        for state in reached_sets:  # which grows meanwhile
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
                    reached_sets.append(reached)
                row[group] = states[reached]
            if len(states) > MOST_STATES:
                raise self._too_large(f"at most {MOST_STATES:,} states")
            rows.append(row)
            accepts.append(is_whole)
        self.states = reached_sets
        return self._trimmed(np.array(rows)[:, kind], np.array(accepts), end)

    def _trimmed(self, follow: np.ndarray, accepts: np.ndarray, end: int) -> np.ndarray:
        alive = accepts.copy()
        while (more := ~alive & (alive[follow] & (follow >= 0)).any(axis=1)).any():
            alive |= more
        if not alive[0]:
            raise AccordError(f"'{self.text:.{SHOWN}}': no sentence of known words matches")
        follow[~alive[follow]] = FORBIDDEN
        follow[:, end] = np.where(accepts, np.arange(len(follow)), FORBIDDEN)
        return follow

    def _tokenised(self) -> Iterator[str]:
        place = 0
        while place < len(self.text):
            match = TOKEN.match(self.text, place)
            if not match:
                raise self._wrong('a closing "', self.text[place:])
            if match[1]:
                yield match[1]
            place = max(match.end(), place + 1)

    def _check_size(self) -> None:
        """Limit nested brackets, which are parsed by recursion, and tests, which fill a table."""
        tests, depth, deepest = 0, 0, 0
        for token in self._tokens:
            tests += token not in ("(", ")", "|", *REPEAT)
            depth += (token == "(") - (token == ")")
            deepest = max(deepest, depth)
        if tests > MOST_TESTS:
            raise self._too_large(f"at most {MOST_TESTS:,} words")
        if deepest > DEEPEST:
            raise self._too_large(f"brackets at most {DEEPEST} deep")

    def _alternatives(self) -> Piece:
        part = self._sequence()
        while self._tokens[-1:] == ["|"]:
            self._tokens.pop()
            other = self._sequence()
            part = Piece(
                part.nullable or other.nullable, part.first | other.first, part.last | other.last
            )
        return part

    def _sequence(self) -> Piece:
        part = Piece()
        while self._tokens and self._tokens[-1] not in ("|", ")"):
            other = self._repeated()
            self._link(part.last, other.first)
            part = Piece(
                part.nullable and other.nullable,
                part.first | other.first if part.nullable else part.first,
                part.last | other.last if other.nullable else other.last,
            )
        return part

    def _repeated(self) -> Piece:
        part = self._single()
        while self._tokens and self._tokens[-1] in REPEAT:
            sign = self._tokens.pop()
            if sign != "?":
                self._link(part.last, part.first)
            part = part._replace(nullable=part.nullable or sign != "+")
        return part

    def _single(self) -> Piece:
        token = self._tokens.pop()
        if token in REPEAT:
            raise self._wrong("a test or a bracket", token)
        if token == "(":
            part = self._alternatives()
            if self._tokens[-1:] != [")"]:
                raise self._wrong(")", self._tokens[-1] if self._tokens else "the end")
            self._tokens.pop()
            return part
        self.tests.append(token)
        self.after.append(set())
        place = frozenset({len(self.tests) - 1})
        return Piece(False, place, place)

    def _link(self, last: frozenset[int], first: frozenset[int]) -> None:
        for place in last:
            self.after[place] |= first

    def _wrong(self, expected: str, found: str) -> AccordError:
        return AccordError(f"'{self.text:.{SHOWN}}': expected {expected}, found '{found:.{SHOWN}}'")

    def _too_large(self, expected: str) -> AccordError:
        return AccordError(f"'{self.text:.{SHOWN}}': expected {expected}")


UNIT = re.compile(r"\\(.)|\[(\^?)((?:\\.|[^\]\\])+)\]|([()|*+?])|([][{}^$\\])|(.)", re.DOTALL)
RANGE = re.compile(r"\\?(.)(?:-\\?(.))?", re.DOTALL)
KNOWN_ESCAPE = re.compile(r"\W|d")  # of all others it is not said what they mean
OTHER = "\N{NULL}"  # stands for every character that neither alphabet nor expression has

DIGITS = "0123456789"
WIDEST = 10_000  # characters from one to another

Test = Callable[[str], bool]


class Letters(NamedTuple):
    """A deterministic automaton that reads a word from its end, as spelling models write it."""

    follow: np.ndarray  # (Q × D), the state after a character, −1 where no match can come any more
    accepts: np.ndarray  # (Q), whether a word may be over
    characters: list[str]  # the D that it tells apart, OTHER among them
    symbol: np.ndarray  # that a spelling model has for each (D)
    share: np.ndarray  # of each character among those of its symbol (D)


def letters(expression: str, alphabet: Alphabet) -> Letters:
    """Return the automaton of all words that an expression matches as a whole."""
    tests, named, parsed = _parsed(expression)
    outside = sorted(c for c in named | {*DIGITS} if c not in alphabet.symbol)
    characters = [*alphabet.symbol, *outside, OTHER]
    follow = parsed.reversed().automaton(_obeys(tests, characters), len(characters))
    rest = alphabet.others
    inside = [1 / 10 if alphabet.has_digits and c in DIGITS else 1.0 for c in alphabet.symbol]
    return Letters(
        follow[:, :-1],
        follow[:, -1] >= 0,
        characters,
        np.array([alphabet.symbol.get(c, ESCAPE) for c in characters]),
        np.array([*inside, *[1 / rest] * len(outside), (rest - len(outside)) / rest]),
    )


def matches(expression: str, words: Iterable[str]) -> list[bool]:
    """Return whether an expression matches each word as a whole, in linear time.

    Python's `re` tries one way after the other, and `(.|.)*z` has more ways than atoms.
    """
    tests, named, parsed = _parsed(expression)
    words = list(words)
    characters = [*sorted(named.union(*words)), OTHER]
    follow = parsed.automaton(_obeys(tests, characters), len(characters))
    number = {character: at for at, character in enumerate(characters)}
    rows = follow.tolist()

    def is_match(word: str) -> bool:
        state = 0
        for character in word:
            state = rows[state][number[character]]
            if state == FORBIDDEN:
                return False
        return rows[state][-1] != FORBIDDEN

    return [is_match(word) for word in words]


def _obeys(tests: Sequence[Test], characters: Sequence[str]) -> np.ndarray:
    """Return which characters pass each test; the end of a word, the last column, passes none."""
    obeys = np.array([[test(c) for c in characters] for test in tests], bool)
    return np.pad(obeys.reshape(len(tests), len(characters)), ((0, 0), (0, 1)))


def _parsed(expression: str) -> tuple[list[Test], set[str], Expression]:
    """Return the tests of single characters, the characters they name, and the expression."""
    tests: list[Test] = []
    named: set[str] = set()
    text: list[str] = []
    for unit in UNIT.finditer(expression):
        escaped, negated, inside, sign, unknown, plain = unit.groups()
        if unknown == "[":
            raise AccordError(
                f"/{expression:.{SHOWN}}/: expected an expression, but unterminated ["
            )
        if unknown:
            raise AccordError(
                f"/{expression:.{SHOWN}}/: expected \\{unknown} for the sign itself, "
                f"found {unknown}"
            )
        if sign:
            text.append(sign)
            continue
        if escaped and not KNOWN_ESCAPE.fullmatch(escaped):
            raise AccordError(
                f"/{expression:.{SHOWN}}/: expected \\d or an escaped sign, found \\{escaped}"
            )
        text.append(f'"{len(tests)}"')
        if plain == ".":
            tests.append(lambda c: True)
            continue
        members = {*DIGITS} if escaped == "d" else _members(inside or escaped or plain)
        named |= members
        tests.append(_among(members, bool(negated)))
    try:
        parsed = Expression(" ".join(text))
    except ValueError as error:  # it names tests by their numbers
        _, _, fault = str(error).partition("': ")
        raise AccordError(f"/{expression:.{SHOWN}}/: {fault}") from None
    parsed.text = f"/{expression}/"  # as later errors have it
    return tests, named, parsed


def _among(members: set[str], negated: bool) -> Test:
    return lambda c: (c in members) != negated


def _members(inside: str) -> set[str]:
    """Return the characters between the brackets of a class, or the single character."""
    if len(inside) == 1:
        return {inside}
    members = set()
    for first, last in RANGE.findall(inside):
        between = range(ord(first), ord(last or first) + 1)
        if not 0 < len(between) <= WIDEST:
            raise AccordError(f"[{inside}]: expected up to {WIDEST:,} characters in rising order")
        members |= set(map(chr, between))
    return members


class WordAutomaton:
    """Reads words by groups, and forbids some groups in each state.

    `group` (V) is the group of each word; `follow` (Q × G) the state after a word of a group, −1
    where the state forbids it; `log_weight` (Q × G), if not all are alike, by how many nats the
    state makes a word of a group likelier. It starts in state 0.
    """

    def __init__(self, group: np.ndarray, follow: np.ndarray, log_weight: np.ndarray | None = None):
        self.group, self.follow = np.asarray(group, np.int64), np.asarray(follow, np.int64)
        states, groups = self.follow.shape
        check_range("group", "groups", self.group, 0, groups)
        check_range("follow", "states", self.follow, -1, states)
        weight = 0.0 if log_weight is None else log_weight
        self.log_weight = np.where(self.follow >= 0, weight, -np.inf)

    def states(self, sentences: Sentences) -> np.ndarray:
        """Return the state before each word of each sentence: (N).

        A forbidden word leaves the state as it was: its text has the probability zero already.
        """
        states = np.zeros(len(sentences.ids), np.int64)
        starts, current = sentences.starts, np.zeros(len(sentences.lengths), np.int64)
        for step in range(sentences.lengths.max(initial=0)):
            longer = np.flatnonzero(sentences.lengths > step)
            positions = starts[longer] + step
            states[positions] = current[longer]
            following = self.follow[current[longer], self.group[sentences.ids[positions]]]
            current[longer] = np.where(following >= 0, following, current[longer])
        return states
