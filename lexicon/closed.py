"""Closed classes and shapes: words that every text has and no dictionary needs to list.

The words are in `closed.tsv`, a row for each reading. A contraction has the readings of both its
parts. Where a closed-class word is also a common noun or verb, the table has that reading too: a
chain that begins with `closed` sees nothing else of the word. Shapes identify the rest: surely a
number or a date, probably a capitalised name.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from accord.lexicon.analysis import Analysis, Lexicon, Request

WORDS = Path(__file__).with_name("closed.tsv")

ROMAN = r"(?=[IVX])X{0,3}(?:IX|IV|V?I{0,3})"  # up to 39: centuries, kings, chapters
LONG_ROMAN = r"(?=.*[IVX])M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})"
DIGITS = r"\d+(?:[.,' _\u00a0\u202f]\d+)*"
WORD_NUMBER = (
    "un|une|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|treize|quatorze|quinze|seize|"
    "vingts?|trente|quarante|cinquante|soixante|septante|huitante|octante|nonante|cents?|mille|et"
)
DIGIT = "NumForm=Digit|NumType=Card"

# The first pattern that matches a whole form: (name, pattern, UPOS, feats).
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
    """The parts of speech of unknown words of one shape."""

    shares: dict[str, float]  # of UPOS
    surety: float  # the ending decides the rest


# For forms that no lexicon knows: shares among such words of UD French 1.4, its training file only,
# so that nothing of a test is known here.
LIKELY = {
    "capitals": Look({"PROPN": 0.84, "NOUN": 0.1, "X": 0.06}, 1.0),
    "digits": Look({"PROPN": 0.4, "NOUN": 0.2, "NUM": 0.2, "X": 0.2}, 1.0),
    "capital": Look({"PROPN": 1.0}, 0.98),
    "small": Look({}, 1.0),  # the lexicon alone knows
}

# The signs of French typography and of keyboards, in the spelling of a text that is normalised.
# They are listed like words, so that they are known even if the training text lacks them. Any other
# sign is recognised by the class of its characters.
SIGNS = """
    . , ; : ? ! ... ( ) [ ] { } « » “ ” " ' - – — / · •
    € $ £ ° § + = × ÷ ± < > * # @ _ ~ ^ | \\ † © ® ™ ‰ →
"""
SYMBOLS = set("%‰&@#*§°©®™†‡_\\~^|<>=+×÷±")


@cache
def shapes(lowercase: bool) -> list[tuple[re.Pattern, str, str]]:
    """Compile SURE to patterns of whole forms, in either case where the text is lowercased."""
    flags = re.IGNORECASE if lowercase else 0
    return [(re.compile(rf"(?:{shape})\Z", flags), *reading) for _, shape, *reading in SURE]


def sure(form: str, lowercase: bool = False) -> tuple[Analysis, ...]:
    """Return the analysis of a number, date, ordinal or sign; none if the form has no such shape.

    In a lowercased text (`xive`, `u.s.a.`) the same shapes are looked for in either case.
    """
    if form in NOT_SHAPES:
        return ()
    for pattern, upos, feats in shapes(lowercase):
        if pattern.match(form):
            return (Analysis(form, upos, feats),)
    return signs(form)


def signs(form: str) -> tuple[Analysis, ...]:
    """Analyse punctuation, symbols and foreign scripts by the Unicode class of their characters."""
    kinds = {unicodedata.category(character)[0] for character in form}
    if kinds and not kinds & {"L", "N"}:
        symbol = "S" in kinds or SYMBOLS & set(form)
        return (Analysis(form, "SYM" if symbol else "PUNCT"),)
    letters = [c for c in form if c.isalpha()]
    if letters and not any(unicodedata.name(c, "").startswith("LATIN") for c in letters):
        return (Analysis(form, "X", "Foreign=Yes"),)
    return ()


def looks(forms: np.ndarray) -> np.ndarray:
    """Return the name in LIKELY of the first shape that each form has."""
    return np.array([_look(form) for form in forms], dtype=object)


def _look(form: str) -> str:
    if not form.islower():  # most forms are: they have no capital
        stem = form.removesuffix("s")
        if len(stem) > 1 and all(map(_is_capital, stem)):
            return "capitals"
    if DIGIT.search(form):
        return "digits"
    return "capital" if _is_capital(form[:1]) else "small"


def _is_capital(letter: str) -> bool:
    return bool(letter) and unicodedata.category(letter) == "Lu"


# A tokeniser leaves the hyphen, and the t that only sound asks for, on the pronoun: `-t-il`.
AFTER_T = ("il", "elle", "on", "ils", "elles", "y", "en")
CLITICS = ("je", "moi", "m'", "tu", "toi", "t'", "nous", "vous", "ce", "le", "la", "les", "lui")
CLITICS += ("leur", *AFTER_T)

# Ordinary words, small or capitalised, have no shape to look at: most forms stop here.
ORDINARY = re.compile(r"[A-ZÀ-ÞŒ]?[a-zß-öø-ÿœ]+('[a-zß-öø-ÿœ]+)?")
MAYBE_ROMAN = re.compile(r"[ivxlcdmIVXLCDM]+(er?|re|ère|è|ème|eme)?s?")
DIGIT = re.compile("[0-9]")
TEXTS = ("lemma", "upos", "feats", "source")  # columns


@cache
def words() -> dict[str, tuple[Analysis, ...]]:
    """Read the closed classes of French, every reading of each word, in UD's names."""
    analyses: dict[str, tuple[Analysis, ...]] = {}
    _, *rows = WORDS.read_text(encoding="utf-8").splitlines()
    for row in rows:
        form, lemma, upos, feats = row.split("\t")
        analysis = Analysis(lemma, upos, "" if feats == "_" else feats)
        analyses[form] = (*analyses.get(form, ()), analysis)
    return analyses


def clitics() -> dict[str, tuple[Analysis, ...]]:
    listed = words()
    pronouns = {word: tuple(row for row in listed[word] if row.upos == "PRON") for word in CLITICS}
    hyphened = {f"-{word}": analyses for word, analyses in pronouns.items()}
    return hyphened | {f"-t-{word}": pronouns[word] for word in AFTER_T}


class Closed(Lexicon):
    """Function words, clitics, numbers, dates, signs, abbreviations; in any case but their own."""

    name = "closed"
    licence = "MIT"

    def __init__(self, lowercase: bool = False):
        self.lowercase = lowercase
        self._words: dict[str, tuple[Analysis, ...]] = {}
        listed = words() | clitics() | {sign: signs(sign) for sign in SIGNS.split()}
        for form, analyses in listed.items():
            key = form.lower() if lowercase else form
            self._words[key] = tuple(dict.fromkeys(self._words.get(key, ()) + analyses))

    def __len__(self) -> int:
        return len(self._words)

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)

    def exact(self, form: str) -> tuple[Analysis, ...]:
        listed = self._words.get(form) or self._words.get(form.lower(), ())
        if listed or (ORDINARY.fullmatch(form) and not MAYBE_ROMAN.fullmatch(form)):
            return listed
        return sure(form, self.lowercase)

    def find(self, forms: np.ndarray) -> pd.DataFrame:
        rows = [(place, *row) for place, form in enumerate(forms) for row in self.exact(form)]
        table = pd.DataFrame(rows, columns=["word", *Analysis._fields]).assign(source=self.name)
        return table.astype({"word": np.int64, "weight": np.float32, **dict.fromkeys(TEXTS, str)})


def closed(request: Request) -> Closed:
    return Closed(request.lowercase)
