"""Texts of several sentences: where each is split, and what its words are conditioned on."""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from accord.corpora.segment import sentence_spans
from accord.corpora.tokenise import normalise

CONTEXT = "context"  # the column of a table with what is read before each row


class Context(StrEnum):
    """What a word is conditioned on."""

    text = "text"  # all words before it in its text
    none = "none"  # those of its own sentence


class SplitTexts(NamedTuple):
    """The sentences of some texts in a row."""

    sentences: list[str]  # as written
    text: list[int]  # the number of the text that each is from, from 0
    start: list[int]  # where it begins in its text


def split_texts(texts: Iterable[str]) -> SplitTexts:
    """Texts split into sentences; one without words has none."""
    found = [
        (text[start:end], number, start)
        for number, text in enumerate(texts)
        for start, end in sentence_spans(text)
        if normalise(text[start:end])
    ]
    return SplitTexts(*([each[column] for each in found] for column in range(3)))


def pieces(documents: Sequence[int] | None, count: int, at_once: int) -> Iterator[slice]:
    """Sentences that are read together, at least so many at once unless no more are left.

    `documents` has the number of the document of each of the `count` sentences. None is cut.
    """
    first = 0
    while first < count:
        end = min(first + at_once, count)
        while documents is not None and end < count and documents[end] == documents[end - 1]:
            end += 1
        yield slice(first, end)
        first = end
