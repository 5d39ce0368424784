"""One spelling for characters that French writes in several ways.

œ and æ become `oe` and `ae`: DELA, Lefff and Lexique know `coeur` and `ex aequo` and hold no œ at
all (æ in ten proper names of Lefff), so that the ligature would hide a common word's analyses.
Signs that carry meaning stay as they are: `m²`, `½`, « ».
"""

import re
import unicodedata
from functools import cache

SPELLINGS = {
    "'": "’‘ʼ´\x92",  # typographic, opening, modifier, acute, and cp1252's in Latin-1
    "-": "\u2010\u2011",  # hyphen, non-breaking hyphen
    " ": "\u00a0\u202f\u2007\u2009\u200a\t",  # no-break, narrow no-break, figure, thin, hair, tab
    "": "\u00ad\u200b\u200c\u200e\u200f\u2060\ufeff",  # soft hyphen, zero-width and marks
    "...": "…",
    "oe": "œ",
    "Oe": "Œ",
    "ae": "æ",
    "Ae": "Æ",
    "ff": "\ufb00",
    "fi": "\ufb01",
    "fl": "\ufb02",
    "ffi": "\ufb03",
    "ffl": "\ufb04",
    "st": "\ufb05\ufb06",
    "ij": "ĳ",
    "°": "º",  # nº
    "n°": "№",
    "e": "ᵉ",  # XIXᵉ
    "r": "ʳ",  # 1ᵉʳ
    "μ": "µ",  # the micro sign, for the Greek letter
}
# A zero-width joiner makes one sign of several emoji; anywhere else it is not seen, and dropped.
EMOJI_JOINER, EMOJI = "\u200d", "\u2190-\u21ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
LOOSE_JOINER = re.compile(rf"(?<![{EMOJI}\ufe0f]){EMOJI_JOINER}|{EMOJI_JOINER}(?![{EMOJI}])")
# Composing sorts the marks above and below a letter, in time that grows with the square of their
# number. Unicode's Stream-Safe Text Format allows 30 in a row, and a joiner then begins anew.
MOST_MARKS, JOINER = 30, "\u034f"
MAYBE_MARKS = re.compile(rf"[\u0300-\U0001ffff]{{{MOST_MARKS + 1}}}")  # no letter of French: quick
TABLE = str.maketrans({char: one for one, several in SPELLINGS.items() for char in several})


def normalise(text: str) -> str:
    """The text composed (NFC), respelled by SPELLINGS, with single spaces; idempotent."""
    respelled = composed(LOOSE_JOINER.sub("", text)).translate(TABLE)
    return " ".join(composed(respelled).split())  # again, for what now meets


def composed(text: str) -> str:
    """The text in NFC, with no more marks in a row than Unicode allows where text is streamed."""
    if MAYBE_MARKS.search(text):
        text = too_many_marks().sub(rf"\g<0>{JOINER}", text)
    return unicodedata.normalize("NFC", text)


@cache
def too_many_marks() -> re.Pattern:
    """As many marks in a row as there may be, with another one after them."""
    marks = "".join(chr(code) for code in range(0x20000) if unicodedata.combining(chr(code)))
    return re.compile(f"[{marks}]{{{MOST_MARKS}}}(?=[{marks}])")
