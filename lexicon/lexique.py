"""Lexique 3.83: forms with their frequencies per million words in subtitles and in books.

It also has pronunciations, from which `homophones.zip` is made.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path

from accord.lexicon.analysis import join_feats
from accord.lexicon.homophones import ELIDED, TABLE, Homophones, Spoken
from accord.lexicon.index import (
    LeftOut,
    LexiconRow,
    Report,
    TextLexicon,
    amount,
    check_names,
    check_word,
    columns,
    header,
    lines,
    rows,
)
from accord.lexicon.ladl import GENDER, NUMBER, PERSON

# Class → UPOS and the feats of the class.
CLASS = {
    "NOM": ("NOUN", ""),
    "VER": ("VERB", ""),
    "AUX": ("AUX", ""),
    "ADJ": ("ADJ", ""),
    "ADJ:dem": ("DET", "PronType=Dem"),
    "ADJ:ind": ("DET", "PronType=Ind"),
    "ADJ:int": ("DET", "PronType=Int"),
    "ADJ:num": ("NUM", "NumType=Card"),
    "ADJ:pos": ("DET", "Poss=Yes|PronType=Prs"),
    "ART:def": ("DET", "Definite=Def|PronType=Art"),
    "ART:ind": ("DET", "Definite=Ind|PronType=Art"),
    "PRO:dem": ("PRON", "PronType=Dem"),
    "PRO:ind": ("PRON", "PronType=Ind"),
    "PRO:int": ("PRON", "PronType=Int"),
    "PRO:per": ("PRON", "PronType=Prs"),
    "PRO:pos": ("PRON", "Poss=Yes|PronType=Prs"),
    "PRO:rel": ("PRON", "PronType=Rel"),
    "ADV": ("ADV", ""),
    "PRE": ("ADP", ""),
    "CON": ("SCONJ", ""),
    "ONO": ("INTJ", ""),
    "LIA": ("PART", ""),  # the l' of l'on
}
COORDINATORS = {"et", "ou", "mais", "ni", "car", "or", "donc", "puis", "soit"}  # the other CON
ELIDING = {"PRO:per", "PRO:dem", "PRO:rel", "PRO:int", "ART:def", "CON", "PRE", "ADV"}

# A verb's code: `sub:imp:3s`, `par:pas`, `inf`; other words have none.
VERB = re.compile(r"(.*?)(?::([123])([sp]))?")
MOOD_AND_TENSE = {
    "": "",
    "ind:pre": "Mood=Ind|Tense=Pres|VerbForm=Fin",
    "ind:imp": "Mood=Ind|Tense=Imp|VerbForm=Fin",
    "ind:pas": "Mood=Ind|Tense=Past|VerbForm=Fin",
    "ind:fut": "Mood=Ind|Tense=Fut|VerbForm=Fin",
    "cnd:pre": "Mood=Cnd|Tense=Pres|VerbForm=Fin",
    "sub:pre": "Mood=Sub|Tense=Pres|VerbForm=Fin",
    "sub:imp": "Mood=Sub|Tense=Imp|VerbForm=Fin",
    "imp:pre": "Mood=Imp|Tense=Pres|VerbForm=Fin",
    "par:pas": "Tense=Past|VerbForm=Part",
    "par:pre": "Tense=Pres|VerbForm=Part",
    "inf": "VerbForm=Inf",
}
TAG_COLUMNS = ("1_ortho", "3_lemme", "4_cgram", "5_genre", "6_nombre", "11_infover")
FREQUENCIES = ("9_freqfilms2", "10_freqlivres")


@cache
def readings(name: str, gender: str, number: str, verb_codes: str) -> tuple[tuple[str, str], ...]:
    """Return UPOS and feats of one row's tags. An unknown tag is a KeyError."""
    upos, feats = CLASS[name]
    agreement = (GENDER[gender] if gender else "", NUMBER[number] if number else "")
    inflected = []
    for code in list(filter(None, verb_codes.strip('"').split(";"))) or [""]:
        verb, person, count = VERB.fullmatch(code).groups("")
        # The columns of gender and number are the participle's where a row has other readings.
        agrees = (PERSON[person], NUMBER[count]) if person else agreement
        inflected.append((upos, join_feats(feats, MOOD_AND_TENSE[verb], *agrees)))
    return tuple(dict.fromkeys(inflected))


def parse_tags(line: str, names: Sequence[str]) -> list[LexiconRow]:
    cells = dict(zip(names, columns(line, len(names)), strict=True))
    form, lemma, *tags = (cells[name] for name in TAG_COLUMNS)
    check_word(form, lemma)
    if not tags[0]:
        raise LeftOut("no class given")
    inflected = readings(*tags)
    if tags[0] == "CON" and lemma in COORDINATORS:
        inflected = (("CCONJ", ""),)
    mark, count = apostrophe(form, tags[0]), per_million(cells) / len(inflected)
    return [LexiconRow(form + mark, lemma + mark, *reading, count) for reading in inflected]


def apostrophe(form: str, name: str) -> str:
    """Return the apostrophe that Lexique leaves out of elided words of some classes."""
    return "'" if form in ELIDED and name in ELIDING else ""


def per_million(cells: Mapping[str, str]) -> float:
    """Return how often a word occurs per million, subtitles and books weighing the same."""
    return sum(amount(cells[name].replace(",", ".")) for name in FREQUENCIES) / 2


def read_lexique(path: Path, report: Report) -> Iterator[LexiconRow]:
    return _rows(path, report, TAG_COLUMNS, parse_tags)


def _rows(path: Path, report: Report, needed: Sequence[str], parse: Callable) -> Iterator:
    """Yield the results of `parse(line, names)` for each line; the header has the `names`."""
    numbered = lines(path, report, encoding="cp1252", cut_short=True)
    names = header(path, numbered).split("\t")
    check_names(path, names, (*needed, *FREQUENCIES))
    return rows(numbered, report, partial(parse, names=names))


lexique = TextLexicon(
    "lexique", "CC BY-SA 4.0", source="lexique", file="Lexique383.txt", read=read_lexique, version=1
)


SOUND_COLUMNS = ("1_ortho", "3_lemme", "2_phon", "4_cgram")


def read_sounds(path: Path) -> Iterator[Spoken]:
    """Read the pronunciations of all forms."""
    return _rows(path, Report(path), SOUND_COLUMNS, parse_sounds)


def parse_sounds(line: str, names: Sequence[str]) -> list[Spoken]:
    cells = dict(zip(names, columns(line, len(names)), strict=True))
    form, lemma, sound, name = (cells[column] for column in SOUND_COLUMNS)
    check_word(form, lemma)
    mark, count = apostrophe(form, name), per_million(cells)
    return [Spoken(form + mark, lemma, sound, None if mark else count)] if sound else []


if __name__ == "__main__":
    Homophones.of_rows(read_sounds(Path(sys.argv[1]))).save(TABLE)
