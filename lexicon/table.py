"""A user's own table: TSV or CSV whose header names form, lemma, upos and feats, maybe count."""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from lexicon.analysis import UPOS, join_feats
from lexicon.reading import Report, Row, amount, check_names, header, lines
from lexicon.text import TextLexicon

REQUIRED = ("form", "lemma", "upos", "feats")
FEATURE = re.compile(r"[^\s=|]+=[^\s=|]+")


def read(path: Path, report: Report) -> Iterator[Row]:
    numbered = lines(path, report)
    split = csv_cells if path.suffix == ".csv" else tab_cells
    names = [name.strip().lower() for name in split(header(path, numbered))]
    check_names(path, names, REQUIRED)
    seen: dict[tuple[str, ...], int] = {}
    for number, line in numbered:
        cells = split(line)
        if len(cells) != len(names):
            report.bad(number, f"{len(names)} columns expected, {len(cells)} found", line)
            continue
        row = analysis_row(dict(zip(names, cells, strict=True)), number, report)
        if row is None:
            continue
        if row[:4] in seen:
            report.bad(number, f"the same as line {seen[row[:4]]}", line)
            continue
        seen[row[:4]] = number
        yield row


def tab_cells(line: str) -> list[str]:
    return line.split("\t")


def csv_cells(line: str) -> list[str]:
    """The cells of a line; none where its quotes do not close, or a cell is too long for any."""
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error:
        return []


def analysis_row(cells: dict[str, str], number: int, report: Report) -> Row | None:
    """The row of one line in UD's terms; `_` is UD's sign for nothing."""
    form, lemma, upos, feats = (cells[name].strip() for name in REQUIRED)
    text = " ".join(cells.values())
    if not form:
        report.bad(number, "no form", text)
    elif "\t" in form + lemma:  # which a quoted cell may hold
        report.bad(number, "a tab within a word", text)
    elif upos not in UPOS:
        report.bad(number, f"unknown upos {upos!r}", text)
    elif not well_formed(feats):
        report.bad(number, f"feats are Name=Value|Name=Value, not {feats!r}", text)
    else:
        try:
            count = amount(cells.get("count") or "1")
        except ValueError:
            report.bad(number, f"count is not a number: {cells['count']!r}", text)
            return None
        lemma = "" if lemma == "_" and form != "_" else lemma
        return Row(form, lemma, upos, join_feats("" if feats == "_" else feats), count)
    return None


def well_formed(feats: str) -> bool:
    return feats in ("", "_") or all(FEATURE.fullmatch(pair) for pair in feats.split("|"))


def table(path: Path) -> TextLexicon:
    return TextLexicon(path.stem, "the user's own", source=None, file=str(path), read=read)


# The words of the corpus `tiny`, and further forms of their lemmas.
tiny = TextLexicon(
    "tiny", "MIT", source=None, file=str(Path(__file__).with_name("tiny.tsv")), read=read
)
