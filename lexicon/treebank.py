"""A treebank as a lexicon: the analyses that its words were given, each with its count.

Either a CoNLL-U file, or a table of form, lemma, UPOS, feats and count without a header: the way
of the paper. A lexicon made of the training text knows which words it holds; see the guesser.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lexicon.analysis import UPOS
from lexicon.reading import BadRow, LeftOut, Report, Row, columns, lines, rows
from lexicon.table import REQUIRED, analysis_row
from lexicon.text import TextLexicon

# Releases before UD 2 have CONJ; the other tags are the coarse ones of the French Treebank, which
# taggers of French may leave in their output.
TAG = {upos: upos for upos in UPOS} | {
    "CONJ": "CCONJ",
    "A": "ADJ",
    "CL": "PRON",
    "D": "DET",
    "N": "NOUN",
    "P": "ADP",
    "PONCT": "PUNCT",
    "PRO": "PRON",
    "V": "VERB",
}
NUMBER = r"[1-9][0-9]{0,8}"
PLACE = re.compile(rf"{NUMBER}(-{NUMBER})?|[0-9]{{1,9}}\.{NUMBER}")  # 8, 8-9, 8.1
# Marks of syntax and of spelling that UD keeps among the features of a word.
NOT_MORPHOLOGY = ("ExtPos=", "Typo=")


def morphology(feats: str) -> str:
    return "|".join(pair for pair in feats.split("|") if not pair.startswith(NOT_MORPHOLOGY))


def read_conllu(path: Path, report: Report) -> Iterator[Row]:
    """Each word with its analysis; a contracted word (`8-9 du`) with those of its parts."""
    contracted, last = "", 0

    def parse(line: str) -> list[Row]:
        nonlocal contracted, last
        if not line or line.startswith("#"):
            last = 0
            return []
        place, form, lemma, tag, _, feats, *_ = columns(line, 10)
        if not PLACE.fullmatch(place) or not form.strip():
            raise BadRow("expected an id such as 8, 8-9 or 8.1, and a form")
        if "-" in place:
            contracted, last = form.strip(), int(place.split("-")[1])
            return []
        if "." in place:
            return []  # an empty node: no word of the text
        named = {"form": form, "lemma": lemma, "upos": TAG.get(tag, tag)}
        row = analysis_row(named | {"feats": morphology(feats)})
        return [row, row._replace(form=contracted)] if int(place) <= last else [row]

    for row, count in Counter(rows(lines(path, report), report, parse)).items():
        yield row._replace(count=count)


def read_counts(path: Path, report: Report) -> Iterator[Row]:
    """A table `form lemma upos feats count`; a contracted form has no analysis of its own there."""

    def parse(line: str) -> list[Row]:
        named = dict(zip((*REQUIRED, "count"), columns(line, 5), strict=True))
        if named["upos"] == "_":
            raise LeftOut("a contracted form without an analysis")
        return [analysis_row(named | {"upos": TAG.get(named["upos"], named["upos"])})]

    return rows(lines(path, report, cut_short=True), report, parse)


def treebank(path: Path) -> TextLexicon:
    """The lexicon of a CoNLL-U file, or of a table of counts."""
    read = read_conllu if path.suffix == ".conllu" else read_counts
    return TextLexicon(
        path.stem, "the treebank's", source=None, file=str(path), read=read, version=1, of_text=True
    )


gsd = TextLexicon(
    "gsd-lexicon",
    "CC BY-SA 4.0",
    source="gsd-lexicon",
    file="lexiqueFR-GSD.tsv",
    read=read_counts,
    version=1,
    of_text=True,
)
