"""Where words stand in the text as it was written, which `normalise` respells.

The text is cut into what is respelled together: a character, the marks on it and what is deleted
after it. Words and text must then have the same letters in the same order, whatever the spaces.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise

from corpora.normalise import EMOJI_JOINER, LOOSE_JOINER, TABLE, normalise

DELETED = {chr(code) for code, spelling in TABLE.items() if spelling == ""} | {EMOJI_JOINER}
JAMO = range(0x1160, 0x1200)  # Korean vowels and finals, which are composed with what is before


def spans(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """From where to where each word of a text stands in it: `text[start:end]` is as written."""
    letters = [(c, piece) for piece in _pieces(text) for c in _letters(text[slice(*piece)])]
    found, at = [], 0
    for word in words:
        own = _letters(word)
        there = letters[at : at + len(own)]
        if not own or own != "".join(letter for letter, _ in there):
            rest = text[there[0][1][0] :] if there else ""
            raise ValueError(f"expected the word {word!r} in {text!r}; found {rest[:30]!r}")
        found.append((there[0][1][0], there[-1][1][1]))
        at += len(own)
    if at < len(letters):
        rest = text[letters[at][1][0] :]
        raise ValueError(f"expected no word after {' '.join(words)!r}; found {rest[:30]!r}")
    return found


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """From where to where each piece stands, without what is deleted at its end."""
    starts = [
        n
        for n, character in enumerate(text)
        if not n or not (_is_bound(character) or _is_joined(text, n))
    ]
    for start, end in pairwise([*starts, len(text)]):
        while end > start and text[end - 1] in DELETED:
            end -= 1
        yield start, end


def _is_bound(character: str) -> bool:
    """Whether a character may be composed with one before it, or is deleted."""
    return (
        unicodedata.category(character).startswith("M")
        or character in DELETED
        or ord(character) in JAMO
    )


def _is_joined(text: str, place: int) -> bool:
    """Whether a joiner before a character makes it one with what stands before."""
    return text[place - 1] == EMOJI_JOINER and not LOOSE_JOINER.match(text, place - 1)


def _letters(text: str) -> str:
    return normalise(text).replace(" ", "")
