"""Texts as people type them: their sentences, words, gap and context."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from accord.corpora.segment import sentence_spans
from accord.corpora.text import HALF
from accord.corpora.tokenise import normalise, tokenised
from accord.errors import AccordError

CONTEXT = "context"  # the column of a table with the text before each row
GAPS = ("…", "...")


class Context(StrEnum):
    """What a word is conditioned on."""

    text = "text"  # all words before it in its text
    none = "none"  # those of its own sentence


class SplitTexts(NamedTuple):
    """The sentences of some texts in a row."""

    sentences: list[str]  # as written
    text: list[int]  # the number of each sentence's text, from 0
    start: list[int]  # where each sentence begins in its text


def split_texts(texts: Iterable[str]) -> SplitTexts:
    """Split texts into sentences; a text without words has none."""
    rows = [
        (text[start:end], number, start)
        for number, text in enumerate(texts)
        for start, end in sentence_spans(text)
        if normalise(text[start:end])
    ]
    return SplitTexts(*([row[column] for row in rows] for column in range(3)))


def tokens(sentences: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Yield the words of each sentence in the case of the text."""
    return tokenised(map(_checked, sentences))


def _checked(text: str) -> str:
    """Return the text if it is valid: bytes that are not UTF-8 arrive as surrogates."""
    if half := HALF.search(text):
        raise AccordError(
            f"expected text in UTF-8, found half of a character (a lone surrogate) behind "
            f"{text[: half.start()][-40:]!r}"
        )
    return text


def without_gap(text: str) -> str:
    """Return a text without the gap at its end: a `…` behind a blank, or alone.

    A `…` right behind a word is a mark of the text. A text without a gap is returned unchanged.
    No regular expression: `\\s*…\\s*$` takes time that grows with the square of the blanks.
    """
    stripped = text.rstrip()
    for gap in GAPS:
        rest = stripped.removesuffix(gap)
        if rest != stripped and (not rest or rest[-1].isspace()):
            return rest.rstrip()
    return text


def pieces(documents: Sequence[int] | None, count: int, at_once: int) -> Iterator[slice]:
    """Yield slices of at least `at_once` sentences, the last one perhaps shorter.

    `documents` numbers the document of each of the `count` sentences; no document is cut.
    """
    first = 0
    while first < count:
        end = min(first + at_once, count)
        while documents is not None and end < count and documents[end] == documents[end - 1]:
            end += 1
        yield slice(first, end)
        first = end


@dataclass(frozen=True)
class Word:
    """A word, its log-probability in nats, and whether the character model spelled it."""

    form: str
    log_p: float
    spelled: bool
