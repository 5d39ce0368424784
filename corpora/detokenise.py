"""From words back to text: write out new sentences, and find the places of words in a text.

A space stands between most words, also before `; : ! ? » %` and after `«`. The rules list the
exceptions.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise

from accord.corpora.tokenise import EMOJI_JOINER, ENCLITICS, LOOSE_JOINER, RESPELLED, normalise
from accord.errors import AccordError

# No space after brackets and elided words (l'arbre, qu'il), none around a slash and a dash.
OPENING = re.compile(r"[(\[{/]|--|.*\w'")
# No space before these, nor before enclitics (va-t-il, ce jour-là).
CLOSING = re.compile(rf"[,.)\]}}/]|\.\.+|--|-(?:{'|'.join(ENCLITICS)})")
SHOUT = re.compile(r"[!?]+")  # no space between two of these: ?!
RANGE = re.compile(r"\d - \d")  # 1990-1995
STRAIGHT_QUOTES = "\"'"  # alike at both ends: the first opens, the next closes


def detokenise(words: Iterable[str]) -> str:
    """Return the text of a sentence, its first letter a capital."""
    pieces: list[str] = []
    open_quotes: set[str] = set()
    space = False  # whether one may stand before the next word
    last = ""
    for word in words:
        closes = word in open_quotes or CLOSING.fullmatch(word)
        if space and not (closes or (SHOUT.fullmatch(last) and SHOUT.fullmatch(word))):
            pieces.append(" ")
        pieces.append(word)
        if word in STRAIGHT_QUOTES:
            open_quotes ^= {word}
        space = not (word in open_quotes or OPENING.fullmatch(word))
        last = word
    text = RANGE.sub(lambda years: years.group().replace(" ", ""), "".join(pieces))
    return re.sub(r"\w", lambda letter: letter.group().upper(), text, count=1)


SPACES = re.compile("[ \t\n\u00a0\u202f]*")  # others may mean something
FIRST_MARK = "\u0300"  # that may be bound to the character before it
DELETED = {chr(code) for code, spelling in RESPELLED.items() if spelling == ""} | {EMOJI_JOINER}
JAMO = range(0x1160, 0x1200)  # Korean vowels and finals, composed with the letters before them


def spans(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Return the start and end of each word in a text: `text[start:end]` is the word as written.

    `normalise` respells the text. So the text is cut into pieces that are respelled together: a
    character, its marks, and the deleted characters after it. Words and text must then have the
    same letters in the same order, whatever the spaces. Most texts need no respelling, and their
    words are found in a fraction of the time.
    """
    return _spans_as_written(text, words) or _spans_respelled(text, words)


def _spans_as_written(text: str, words: Sequence[str]) -> list[tuple[int, int]] | None:
    """Return the spans if the words stand in the text letter for letter; else None."""
    if max(text, default="") >= FIRST_MARK:
        return None
    spans, end = [], 0
    for word in words:
        start = SPACES.match(text, end).end()
        if not word or not text.startswith(word, start):
            return None
        end = start + len(word)
        spans.append((start, end))
    return spans if SPACES.fullmatch(text, end) else None


def _spans_respelled(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    letters_of = cache(_letters)  # a text has few different pieces
    letters = [(c, piece) for piece in _pieces(text) for c in letters_of(text[slice(*piece)])]
    spans, first = [], 0
    for word in words:
        expected = letters_of(word)
        span = letters[first : first + len(expected)]
        if not expected or expected != "".join(letter for letter, _ in span):
            rest = text[span[0][1][0] :] if span else ""
            raise AccordError(f"expected the word {word!r} in {text!r}; found {rest[:30]!r}")
        spans.append((span[0][1][0], span[-1][1][1]))
        first += len(expected)
    if first < len(letters):
        rest = text[letters[first][1][0] :]
        raise AccordError(f"expected no word after {' '.join(words)!r}; found {rest[:30]!r}")
    return spans


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each piece, without the deleted characters at its end."""
    starts = [
        n
        for n, character in enumerate(text)
        if not n or not (_is_bound(character) or _is_joined(text, n))
    ]
    for start, end in pairwise([*starts, len(text)]):
        while end > start and text[end - 1] in DELETED:
            end -= 1
        yield start, end


@lru_cache(4096)
def _is_bound(character: str) -> bool:
    """Return whether a character may be composed with one before it, or is deleted."""
    return (
        unicodedata.category(character).startswith("M")
        or character in DELETED
        or ord(character) in JAMO
    )


def _is_joined(text: str, place: int) -> bool:
    """Return whether a joiner binds a character to the character before it."""
    return text[place - 1] == EMOJI_JOINER and not LOOSE_JOINER.match(text, place - 1)


def _letters(text: str) -> str:
    return normalise(text).replace(" ", "")
