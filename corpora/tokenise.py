"""Words of French text: normalised, numbers such as `50 000` made one, and cut chunk by chunk.

The words are those of spaCy's tokeniser with the rules of `affixes` and `chunk`, which the tests
compare; loading spaCy's French would take longer than what most commands do.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from corpora.chunk import words_of_chunk
from corpora.normalise import normalise

# The groups of three in 50 000, written with the word joiner so that they stand in one chunk.
JOINER = "\u2060"
GROUPED_NUMBER = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})+(?!\d)")

REMEMBERED = 100_000  # chunks, none of them longer than LONGEST
LONGEST = 50


def tokenised(texts: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """The words of each French text, normalised first, in order."""
    return (tuple(_words(normalise(text))) for text in texts)


def _words(text: str) -> Iterator[str]:
    for chunk in GROUPED_NUMBER.sub(join_groups, text).split():
        for word in (_remembered if len(chunk) <= LONGEST else words_of_chunk)(chunk):
            yield word.replace(JOINER, " ")


def join_groups(number: re.Match) -> str:
    return number.group().replace(" ", JOINER)


_remembered = lru_cache(REMEMBERED)(words_of_chunk)
