"""UniMorph French, as the `unimorph` package stores it: lemma, form, features, with tabs."""

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from accord.lexicon.analysis import join_feats
from accord.lexicon.index import (
    LexiconRow,
    Report,
    TextLexicon,
    check_word,
    columns,
    lines,
    rows,
    with_auxiliary,
)

# First feature → UPOS and its feats.
CLASS = {
    "V": ("VERB", ""),
    "V.PTCP": ("VERB", "VerbForm=Part"),
    "V.CVB": ("VERB", "VerbForm=Part"),  # the gerund has the form of the present participle
    "N": ("NOUN", ""),
    "PROPN": ("PROPN", ""),
    "ADJ": ("ADJ", ""),
    "ADV": ("ADV", ""),
}
FEATURE = {
    "IND": "Mood=Ind|VerbForm=Fin",
    "SBJV": "Mood=Sub|VerbForm=Fin",
    "IMP": "Mood=Imp|Tense=Pres|VerbForm=Fin",
    "COND": "Mood=Cnd|Tense=Pres|VerbForm=Fin",
    "NFIN": "VerbForm=Inf",
    "PRS": "Tense=Pres",
    "FUT": "Tense=Fut",
    "PST": "Tense=Past",
    "PFV": "",
    "IPFV": "",
    "POS": "",
    "1": "Person=1",
    "2": "Person=2",
    "3": "Person=3",
    "SG": "Number=Sing",
    "PL": "Number=Plur",
    "MASC": "Gender=Masc",
    "FEM": "Gender=Fem",
}
# UD calls the imperfect a tense, and the only past of the subjunctive form is the imperfect.
IMPERFECT = ({"PST", "IPFV"}, {"PST", "SBJV"})


@cache
def reading(tags: str) -> tuple[str, str]:
    """Return UPOS and feats of `V;IND;PST;3;SG;IPFV`. An unknown feature is a KeyError."""
    name, *features = tags.split(";")
    upos, feats = CLASS[name]
    feats = join_feats(feats, *(FEATURE[feature] for feature in features))
    if any(both <= set(features) for both in IMPERFECT):
        feats = feats.replace("Tense=Past", "Tense=Imp")
    return upos, feats


def parse(line: str) -> list[LexiconRow]:
    lemma, form, tags = columns(line, 3)
    check_word(form, lemma)
    return with_auxiliary([LexiconRow(form, lemma, *reading(tags))])


def read_unimorph(path: Path, report: Report) -> Iterator[LexiconRow]:
    return rows(lines(path, report, cut_short=True), report, parse)


class UniMorph(TextLexicon):
    def path(self, folder: Callable[[str], Path]) -> Path:
        """Return the file, in the folder that UNIMORPH names for the `unimorph` package, if set."""
        home = os.environ.get("UNIMORPH")
        return Path(home) / self.file if home else super().path(folder)


unimorph = UniMorph(
    "unimorph", "CC BY-SA 3.0", source="unimorph", file="fra/fra", read=read_unimorph, version=1
)
