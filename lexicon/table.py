"""A user's own table: TSV or CSV whose header names form, lemma, upos and feats, maybe count."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from lexicon.analysis import UPOS, join_feats
from lexicon.reading import LexiconError, Report, Row, lines
from lexicon.text import TextLexicon

REQUIRED = ("form", "lemma", "upos", "feats")


def read(path: Path, report: Report) -> Iterator[Row]:
    numbered = lines(path, report)
    _, header = next(numbered)
    split = csv_cells if path.suffix == ".csv" else tab_cells
    names = [name.strip().lower() for name in split(header.removeprefix("\ufeff"))]
    lacking = [name for name in REQUIRED if name not in names]
    if lacking:
        raise LexiconError(
            f"{path}:1: no column {', '.join(lacking)}; the header must name "
            f"{', '.join(REQUIRED)} (and may name count), it names {', '.join(names)}"
        )
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
    return next(csv.reader([line]))


def analysis_row(cells: dict[str, str], number: int, report: Report) -> Row | None:
    """The row of one line in UD's terms; `_` is UD's sign for nothing."""
    form, lemma, upos, feats = (cells[name].strip() for name in REQUIRED)
    text = " ".join(cells.values())
    if not form:
        report.bad(number, "no form", text)
    elif upos not in UPOS:
        report.bad(number, f"unknown upos {upos!r}", text)
    elif not well_formed(feats):
        report.bad(number, f"feats are Name=Value|Name=Value, not {feats!r}", text)
    else:
        try:
            count = float(cells.get("count") or 1)
        except ValueError:
            report.bad(number, f"count is not a number: {cells['count']!r}", text)
            return None
        lemma = "" if lemma == "_" and form != "_" else lemma
        return Row(form, lemma, upos, join_feats("" if feats == "_" else feats), count)
    return None


def well_formed(feats: str) -> bool:
    return feats in ("", "_") or all(
        name and value for name, _, value in (pair.partition("=") for pair in feats.split("|"))
    )


def table(path: Path) -> TextLexicon:
    return TextLexicon(path.stem, "the user's own", source=None, file=str(path), read=read)


# The words of the corpus `tiny`, and further forms of their lemmas.
tiny = TextLexicon(
    "tiny", "MIT", source=None, file=str(Path(__file__).with_name("tiny.tsv")), read=read
)
