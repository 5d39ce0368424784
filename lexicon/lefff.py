"""Lefff 3.4: form, class, lemma and inflection code, in four columns: `abats v abattre P12s`."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from lexicon.analysis import join_feats
from lexicon.ladl import inflections
from lexicon.reading import LeftOut, Report, Row, check_word, columns, lines, rows
from lexicon.text import TextLexicon

# Class → UPOS and the feats that the class itself says.
CLASS = {
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
LEMMAS_THAT_ARE_CLASSES = {name for name in CLASS if name.startswith("cl")} | {"ilimp", "çaimp"}

POSSESSOR = {
    f"P{person}{number}": join_feats(
        f"Person[psor]={person}", f"Number[psor]={long}", "Poss=Yes|PronType=Prs"
    )
    for person in "123"
    for number, long in (("s", "Sing"), ("p", "Plur"))
}


@cache
def readings(name: str, code: str) -> tuple[tuple[str, str], ...]:
    """UPOS and feats of class `v` inflected as `P12s`. An unknown tag is a KeyError."""
    upos, own = CLASS[name]
    code, _, possessor = code.partition("_")
    if possessor:
        own = join_feats(own, POSSESSOR[possessor])
    if upos == "ADJ":
        code = code.removeprefix("K")  # a participle used as an adjective
    inflected = ("",) if code == "e" else inflections(code)  # e: elided
    if not inflected:
        raise KeyError(code)
    return tuple((upos, join_feats(own, each)) for each in inflected)


def parse(line: str) -> list[Row]:
    form, name, lemma, code = columns(line, 4)
    if name in NOT_WORDS or ("_" in form and form != "_"):
        raise LeftOut("a mark, not a word")
    check_word(form, lemma)
    found = readings(name, code)
    if lemma in LEMMAS_THAT_ARE_CLASSES:
        lemma = form.removeprefix("-t-").removeprefix("-")
    if name == "pri" and form in ASKING_ADVERBS:
        found = [("ADV", "PronType=Int")]
    return [Row(form, lemma.rstrip("?") or lemma, upos, feats) for upos, feats in found]


def read(path: Path, report: Report) -> Iterator[Row]:
    return rows(lines(path, report, cut_short=True), report, parse)


lefff = TextLexicon("lefff", "LGPL-LR", source="lefff", file="lefff-3.4.mlex", read=read, version=1)
