"""A minimal pair: a right sentence and a wrong one, as words that stand between single spaces."""

from collections.abc import Iterable
from typing import NamedTuple

INSIDE = "\u00a0"  # a space within a word, such as that of 50 000


class Pair(NamedTuple):
    construction: str
    good: str
    bad: str


def text_of(words: Iterable[str]) -> str:
    return " ".join(word.replace(" ", INSIDE) for word in words)


def words_of(text: str) -> list[str]:
    return [word.replace(INSIDE, " ") for word in text.split(" ")]
