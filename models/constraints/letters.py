"""Regular expressions over the characters of a word, `an.*eur`, as automata over an alphabet.

A character, `.`, `[aeiou]`, `[^a-z]`, `\\d`, and `( ) | * + ?` mean what they do in Python's `re`.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from accord.models.network.regular_expression import Expression
from accord.models.spelling.strings import ESCAPE, Alphabet

UNIT = re.compile(r"\\(.)|\[(\^?)((?:\\.|[^\]\\])+)\]|([()|*+?])|(.)", re.DOTALL)
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
    """The automaton of all words that an expression matches as a whole."""
    tests, named, text = _parsed(expression)
    outside = sorted(c for c in named | {*DIGITS} if c not in alphabet.symbol)
    characters = [*alphabet.symbol, *outside, OTHER]
    obeys = np.array([[test(c) for c in characters] for test in tests], bool)
    obeys = np.pad(obeys.reshape(len(tests), -1), ((0, 0), (0, 1)))  # and the end of the word
    follow = Expression(text).reversed().automaton(obeys, len(characters))
    rest = alphabet.others
    inside = [1 / 10 if alphabet.has_digits and c in DIGITS else 1.0 for c in alphabet.symbol]
    return Letters(
        follow[:, :-1],
        follow[:, -1] >= 0,
        characters,
        np.array([alphabet.symbol.get(c, ESCAPE) for c in characters]),
        np.array([*inside, *[1 / rest] * len(outside), (rest - len(outside)) / rest]),
    )


def _parsed(expression: str) -> tuple[list[Test], set[str], str]:
    """The tests of single characters, those that they name, and an expression of their numbers."""
    tests, named, text = [], set(), []
    for unit in UNIT.finditer(expression):
        escaped, negated, inside, sign, plain = unit.groups()
        if sign:
            text.append(sign)
            continue
        if escaped and not KNOWN_ESCAPE.fullmatch(escaped):
            raise ValueError(f"/{expression}/: expected \\d or an escaped sign, found \\{escaped}")
        text.append(f'"{len(tests)}"')
        if plain == ".":
            tests.append(lambda c: True)
            continue
        members = {*DIGITS} if escaped == "d" else _members(inside or escaped or plain)
        named |= members
        tests.append(lambda c, members=members, negated=bool(negated): (c in members) != negated)
    return tests, named, " ".join(text)


def _members(inside: str) -> set[str]:
    """The characters between the brackets of a class, or the only one there is."""
    if len(inside) == 1:
        return {inside}
    found = set()
    for first, last in RANGE.findall(inside):
        between = range(ord(first), ord(last or first) + 1)
        if not 0 < len(between) <= WIDEST:
            raise ValueError(f"[{inside}]: expected up to {WIDEST:,} characters in rising order")
        found |= set(map(chr, between))
    return found
