"""What the look of a form says: sure of a number or a date, likely of a capitalised name."""

import re
import unicodedata
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lexicon.analysis import Analysis

ROMAN = r"(?=[IVX])X{0,3}(?:IX|IV|V?I{0,3})"  # up to 39: centuries, kings, chapters
LONG_ROMAN = r"(?=.*[IVX])M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})"
DIGITS = r"\d+(?:[.,' _\u00a0\u202f]\d+)*"
WORD_NUMBER = (
    "un|une|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|treize|quatorze|quinze|seize|"
    "vingts?|trente|quarante|cinquante|soixante|septante|huitante|octante|nonante|cents?|mille|et"
)
DIGIT = "NumForm=Digit|NumType=Card"

# The first that matches the whole form answers: (what it is, pattern, UPOS, feats).
SURE = [
    ("year", r"1\d{3}|20\d\d", "NUM", f"{DIGIT}|Year=Yes"),
    ("years", r"(?:1\d{3}|20\d\d)[-/–](?:(?:1\d|20)?\d\d)", "NUM", f"{DIGIT}|Year=Yes"),
    ("date", r"\d{1,2}([/.-])\d{1,2}\1\d{2,4}|\d{4}-\d\d-\d\d", "NUM", f"Date=Yes|{DIGIT}"),
    ("first, m", r"(?:1|I)er", "ADJ", "Gender=Masc|NumType=Ord|Number=Sing"),
    ("first, f", r"(?:1|I)(?:re|ère)", "ADJ", "Gender=Fem|NumType=Ord|Number=Sing"),
    ("second, m", r"2nd", "ADJ", "Gender=Masc|NumType=Ord|Number=Sing"),
    ("second, f", r"2nde", "ADJ", "Gender=Fem|NumType=Ord|Number=Sing"),
    ("ordinals", rf"(?:\d+|{ROMAN})(?:es|èmes|emes)|1ers", "ADJ", "NumType=Ord|Number=Plur"),
    ("ordinal", rf"(?:\d+|{ROMAN})(?:e|è|ème|eme)", "ADJ", "NumType=Ord|Number=Sing"),
    ("Roman numeral", rf"(?=..){LONG_ROMAN}", "NUM", "NumForm=Roman|NumType=Card"),
    ("number", rf"[-+−±]?{DIGITS}", "NUM", DIGIT),
    ("fraction, score", rf"{DIGITS}(?:[-/–:]{DIGITS})+", "NUM", DIGIT),
    ("hour", r"\d{1,2}[hH](?:\d\d)?(?:min)?", "NUM", DIGIT),
    ("measure", rf"{DIGITS}(?:%|‰|°|€|\$|[kcm]?m[²³]?|[km]?g|k?W|[KMG]o)", "NUM", DIGIT),
    ("number in words", rf"(?:{WORD_NUMBER})(?:-(?:{WORD_NUMBER}))+", "NUM", "NumType=Card"),
    ("address", r"(?:https?://|www\.)\S+|[\w.+-]+@[\w-]+\.[\w.-]+", "X", ""),
    ("handle", r"[@#]\w+", "X", ""),
    ("smiley", r"[:;=]-?[()DPp]", "SYM", ""),
    ("initials", r"(?:[A-ZÀ-Þ]\.-?)+", "PROPN", "Abbr=Yes"),
    ("capitals", r"(?:[A-ZÀ-Þ]\.)+[A-ZÀ-Þ]", "PROPN", "Abbr=Yes"),
]
# Look like the above, and are words.
NOT_SHAPES = {"ire", "vie", "vies", "mi", "di", "ci", "li", "cv", "dix", "mix"}


class Look(NamedTuple):
    """What words of one look are, and how much of the guess that settles."""

    pattern: str
    shares: dict[str, float]  # of UPOS
    surety: float  # the rest is left to the ending


# For forms that no lexicon knows: as among such words of UD French 1.4, its training file only,
# so that nothing of a test is known here.
LIKELY = {
    "capitals": Look(r"^\p{Lu}{2,}s?$", {"PROPN": 0.84, "NOUN": 0.1, "X": 0.06}, 1.0),
    "digits": Look(r"\d", {"PROPN": 0.4, "NOUN": 0.2, "NUM": 0.2, "X": 0.2}, 1.0),
    "capital": Look(r"^\p{Lu}", {"PROPN": 1.0}, 0.98),
    "small": Look(r"", {}, 1.0),  # the lexicon alone knows
}

# The signs of French typography and of keyboards, in the spelling of a text that is normalised.
# They are listed as words are, so that a text knows them which has none; any other sign is only
# told by the class of its characters.
SIGNS = """
    . , ; : ? ! ... ( ) [ ] { } « » “ ” " ' - – — / · •
    € $ £ ° § + = × ÷ ± < > * # @ _ ~ ^ | \\ † © ® ™ ‰ →
"""
SYMBOLS = set("%‰&@#*§°©®™†‡_\\~^|<>=+×÷±")


def compiled(table, flags=0):
    return [(re.compile(rf"(?:{pattern})\Z", flags), *answer) for _, pattern, *answer in table]


EXACT = compiled(SURE)
ANY_CASE = compiled(SURE, re.IGNORECASE)


def sure(form: str, lowercase: bool = False) -> tuple[Analysis, ...]:
    """The analysis of a number, date, ordinal, sign…; none if the form has no such shape.

    In a lowercased text (`xive`, `u.s.a.`) the same shapes are looked for in either case.
    """
    if form in NOT_SHAPES:
        return ()
    for pattern, upos, feats in ANY_CASE if lowercase else EXACT:
        if pattern.match(form):
            return (Analysis(form, upos, feats),)
    return signs(form)


def signs(form: str) -> tuple[Analysis, ...]:
    """Punctuation and symbols by the Unicode class of their characters; foreign scripts too."""
    kinds = {unicodedata.category(character)[0] for character in form}
    if kinds and not kinds & {"L", "N"}:
        symbol = "S" in kinds or SYMBOLS & set(form)
        return (Analysis(form, "SYM" if symbol else "PUNCT"),)
    letters = [character for character in form if character.isalpha()]
    if letters and not any(unicodedata.name(each, "").startswith("LATIN") for each in letters):
        return (Analysis(form, "X", "Foreign=Yes"),)
    return ()


def looks(forms: np.ndarray) -> np.ndarray:
    """The name in LIKELY of the first look that each form has."""
    words = pa.array(forms, pa.string())
    has = [
        pc.match_substring_regex(words, look.pattern).to_numpy(False) for look in LIKELY.values()
    ]
    return np.array(list(LIKELY), dtype=object)[np.argmax(has, axis=0)]
