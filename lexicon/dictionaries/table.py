"""A user's own table: TSV or CSV whose header names form, lemma, upos and feats, maybe count."""

import csv
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from accord.lexicon.analysis import UPOS, join_feats
from accord.lexicon.index import TextLexicon
from accord.lexicon.reading import (
    BadRow,
    LexiconRow,
    Report,
    amount,
    check_names,
    header,
    lines,
    rows,
)

REQUIRED = ("form", "lemma", "upos", "feats")
FEATURE = re.compile(r"[^\s=|]+=[^\s=|]+")


def read_table(path: Path, report: Report) -> Iterator[LexiconRow]:
    numbered = lines(path, report)
    split = csv_cells if path.suffix == ".csv" else tab_cells
    names = [name.strip().lower() for name in split(header(path, numbered))]
    check_names(path, names, REQUIRED)
    seen: dict[tuple[str, ...], int] = {}

    def parse(line: str) -> list[LexiconRow]:
        cells = split(line)
        if len(cells) != len(names):
            raise BadRow(f"{len(names)} columns expected, {len(cells)} found")
        row = analysis_row(dict(zip(names, cells, strict=True)))
        if row[:4] in seen:
            raise BadRow(f"the same as line {seen[row[:4]]}")
        seen[row[:4]] = report.line
        return [row]

    return rows(numbered, report, parse)


def tab_cells(line: str) -> list[str]:
    return line.split("\t")


def csv_cells(line: str) -> list[str]:
    """The cells of a line; None if its quotes do not close, or a cell is too long."""
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error:
        return []


def analysis_row(cells: dict[str, str]) -> LexiconRow:
    """The row of one line in UD's terms; `_` is UD's sign for nothing."""
    form, lemma, upos, feats = (cells[name].strip() for name in REQUIRED)
    if not form:
        raise BadRow("no form")
    if "\t" in form + lemma:  # which a quoted cell may hold
        raise BadRow("a tab within a word")
    if upos not in UPOS:
        raise BadRow(f"unknown upos {upos!r}")
    if not well_formed(feats):
        raise BadRow(f"feats are Name=Value|Name=Value, not {feats!r}")
    if twice := said_twice(feats):
        raise BadRow(f"a feature that stands twice: expected {twice}")
    lemma = "" if lemma == "_" and form != "_" else lemma
    count = amount(cells.get("count") or "1")
    return LexiconRow(form, lemma, upos, join_feats("" if feats == "_" else feats), count)


def well_formed(feats: str) -> bool:
    return feats in ("", "_") or all(FEATURE.fullmatch(pair) for pair in feats.split("|"))


@cache
def said_twice(feats: str) -> str | None:
    """The right way to write the first feature that stands twice: `Gender=Fem,Masc`."""
    values: dict[str, list[str]] = {}
    for pair in feats.split("|"):
        name, _, value = pair.partition("=")
        values.setdefault(name, []).append(value)
    twice = (name for name in values if len(values[name]) > 1)
    return next((f"{name}={','.join(sorted({*values[name]}))}" for name in twice), None)


def table(path: Path) -> TextLexicon:
    return TextLexicon(
        path.stem, "the user's own", source=None, file=str(path), read=read_table, version=1
    )


# The words of the corpus `tiny`, and further forms of their lemmas.
tiny = TextLexicon(
    "tiny",
    "MIT",
    source=None,
    file=str(Path(__file__).with_name("tiny.tsv")),
    read=read_table,
    version=1,
)
