"""A treebank as a lexicon: the analyses that its words were given, each with its count.

Either a CoNLL-U file, or a table of form, lemma, UPOS, feats and count without a header: the way
of the paper. A lexicon made of the training text knows which words it holds; see the guesser.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lexicon.analysis import UPOS
from lexicon.reading import Report, Row, lines
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
    counts: Counter[Row] = Counter()
    contracted, last = "", 0
    for number, line in lines(path, report):
        if not line or line.startswith("#"):
            last = 0
            continue
        cells = line.split("\t")
        if len(cells) != 10:
            report.bad(number, f"10 columns expected, {len(cells)} found", line)
            continue
        place, form, lemma, tag, _, feats, *_ = cells
        if not PLACE.fullmatch(place) or not form.strip():
            report.bad(number, "expected an id such as 8, 8-9 or 8.1, and a form", line)
            continue
        if "-" in place:
            contracted, last = form.strip(), int(place.split("-")[1])
            continue
        if "." in place:
            continue  # an empty node: no word of the text
        named = {"form": form, "lemma": lemma, "upos": TAG.get(tag, tag)}
        row = analysis_row(named | {"feats": morphology(feats)}, number, report)
        if row is None:
            continue
        counts[row] += 1
        if int(place) <= last:
            counts[row._replace(form=contracted)] += 1
    yield from (row._replace(count=count) for row, count in counts.items())


def read_counts(path: Path, report: Report) -> Iterator[Row]:
    """A table `form lemma upos feats count`; a contracted form has no analysis of its own there."""
    for number, line in lines(path, report, cut_short=True):
        cells = line.split("\t")
        if len(cells) != 5:
            report.bad(number, f"5 columns expected, {len(cells)} found", line)
            continue
        if cells[2] == "_":
            report.left_out(number, "a contracted form without an analysis", line)
            continue
        named = dict(zip((*REQUIRED, "count"), cells, strict=True))
        row = analysis_row(named | {"upos": TAG.get(cells[2], cells[2])}, number, report)
        if row is not None:
            yield row


def treebank(path: Path) -> TextLexicon:
    """The lexicon of a CoNLL-U file, or of a table of counts."""
    read = read_conllu if path.suffix == ".conllu" else read_counts
    return TextLexicon(
        path.stem, "the treebank's", source=None, file=str(path), read=read, of_text=True
    )


gsd = TextLexicon(
    "gsd-lexicon",
    "CC BY-SA 4.0",
    source="gsd-lexicon",
    file="lexiqueFR-GSD.tsv",
    read=read_counts,
    of_text=True,
)
