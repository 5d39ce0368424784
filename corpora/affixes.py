"""What is split off the ends of a word, and where a word falls apart: spaCy's French, bettered.

What spaCy 3's blank French does and these rules change: `c'est-à-dire`, `là-bas`, `chef-d'oeuvre`
and `J.-C.` fall apart; `est-elle` stays whole while `est-il` is split; `va-t-il` loses a lone `-t`
(Lefff, which knows enclitics, writes `-t-il`); `(chap. 8)` ends in a smiley; emoji that are joined
fall apart.
"""

import re

from corpora.characters import (
    CURRENCY,
    DOLLARS,
    LETTER,
    LOWER,
    PUNCTUATION,
    QUOTE,
    SIGN,
    UNITS,
    UPPER,
)
from corpora.normalise import EMOJI, EMOJI_JOINER

# Elided words are split off the front only: `l'` of `l'arbre`, nothing of `prud'homme`.
ELIDED = "c d j l m n s t ç qu jusqu lorsqu presqu puisqu quoiqu"

# Enclitics are split off the end with their hyphen, and with the `t` that only makes them heard.
ENCLITICS = (
    r"t-(?:ils?|elles?|on)",
    r"(?:ils?|elles?|on|je|tu|ce|nous|vous|moi|toi|lui|leur|les?|la|y|en|ci|là)",
    r"[mt]'",  # va-t'en, donnez-m'en
)


def _one_of(listed: str) -> str:
    return "|".join(listed.split())


# A sign with its skin tone and selector, and all that joiners make one with it.
_TONE = r"[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]{0,2}"
SIGNS = rf"[{SIGN}]{_TONE}(?:{EMOJI_JOINER}[{EMOJI}]{_TONE})*"

PREFIX = re.compile(
    rf"(?i:{_one_of(ELIDED)})'(?=[{LETTER}\d])"
    rf"|[§%=—–{PUNCTUATION}{QUOTE}{CURRENCY}]|{SIGNS}"
    rf"|\+(?![0-9])|\.\.+|{DOLLARS}"
)
SUFFIX = re.compile(
    rf"(?:(?<=[{LETTER}])-(?:{'|'.join(ENCLITICS)})"
    r"|(?<=-[mt]')(?:en|y)"
    rf"|[–—{PUNCTUATION}{QUOTE}]"
    r"|\.\.+"
    rf"|(?<=[0-9{LOWER}{QUOTE}()\[\]}}?:%²³+-])\."
    rf"|(?<=[{UPPER}][{UPPER}])\."
    r"|(?<=°[FCK])\."
    r"|(?<=\d)h"
    rf"|(?<=[0-9])(?:\+|[{CURRENCY}]|{DOLLARS}|{_one_of(UNITS)})"
    r")\Z"
)
REACH = 12  # a suffix, dots apart, and what must stand before it are no longer

INFIX = re.compile(
    rf"\.\.+|{SIGNS}"
    r"|(?<=[0-9])[+\-*^](?=[0-9-])"
    rf"|(?<=[{LOWER}{QUOTE}])\.(?=[{UPPER}{QUOTE}])"
    rf"|(?<=[{LETTER}])(?:,|[–—]|--+)(?=[{LETTER}])"
    rf"|(?<=[{LETTER}0-9])[:<>=/](?=[{LETTER}])"
)

# ami(e)s, quel(le): with a bound on the letters, so that a text without spaces takes no longer.
LETTERS = 100
BRACKETED = re.compile(
    rf"[{LETTER}]{{1,{LETTERS}}}\([{LETTER}]{{1,5}}\)[{LETTER}]{{0,{LETTERS}}}\Z"
)
BRACKETED_REACH = LETTERS + 8  # a letter, (, five letters, ) and those after it

# An address of the net, which nothing is split off: a scheme, a user, then numbers or names.
_NAME = r"A-Za-z0-9\u00a1-\uffff"
ADDRESS = re.compile(
    r"(?:[\w+\-.]{2,}://)?(?:\S+@)?"
    r"(?:(?!(?:10|127)(?:\.\d{1,3}){3})(?!(?:169\.254|192\.168)(?:\.\d{1,3}){2})"
    r"(?!172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2})"  # of a net of one's own
    r"(?:[1-9]\d?|1\d\d|2[01]\d|22[0-3])(?:\.(?:1?\d{1,2}|2[0-4]\d|25[0-5])){2}"
    r"\.(?:[1-9]\d?|1\d\d|2[0-4]\d|25[0-4])"
    rf"|(?:(?:[{_NAME}][{_NAME}_-]{{0,62}})?[{_NAME}]\.)+[{LOWER}]{{2,63}})"
    r"(?::\d{2,5})?(?:[/?#]\S*)?"
)
