"""Words back into French text, as a person would write it.

Between most words stands a space, also before `; : ! ? » %` and after `«`. The rules say where
there is none.
"""

import re
from collections.abc import Iterable

from corpora.affixes import ENCLITICS

# No space after brackets and elided words (l'arbre, qu'il), none around a slash and a dash.
OPENING = re.compile(r"[(\[{/]|--|.*\w'")
# No space before these, nor before enclitics (va-t-il, ce jour-là).
CLOSING = re.compile(rf"[,.)\]}}/]|\.\.+|--|-(?:{'|'.join(ENCLITICS)})")
SHOUT = re.compile(r"[!?]+")  # one after the other they hold together: ?!
RANGE = re.compile(r"\d - \d")  # 1990-1995
STRAIGHT_QUOTES = "\"'"  # alike at both ends: the first opens, the next closes


def detokenise(words: Iterable[str]) -> str:
    """The text of a sentence, its first letter a capital."""
    pieces: list[str] = []
    open_quotes: set[str] = set()
    space = False  # whether one may stand before the next word
    before = ""
    for word in words:
        closes = word in open_quotes or CLOSING.fullmatch(word)
        if space and not (closes or (SHOUT.fullmatch(before) and SHOUT.fullmatch(word))):
            pieces.append(" ")
        pieces.append(word)
        if word in STRAIGHT_QUOTES:
            open_quotes ^= {word}
        space = not (word in open_quotes or OPENING.fullmatch(word))
        before = word
    text = RANGE.sub(lambda found: found.group().replace(" ", ""), "".join(pieces))
    return _capitalised(text)


def _capitalised(text: str) -> str:
    """The text with its first letter a capital: « Bonjour »."""
    first = re.search(r"\w", text)
    at = first.start() if first else 0
    return text[:at] + text[at : at + 1].upper() + text[at + 1 :]
