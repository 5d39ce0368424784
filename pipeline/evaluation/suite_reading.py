"""The files that a suite may be written in, read as they stand: pairs of sentences and lines.

    .txt            `True`, a tab and a right sentence; then `False`, a tab and a wrong one (CLAMS)
    .csv, .tsv      columns `good` and `bad`
    .jsonl          an object a line, with `sentence_good` and `sentence_bad` (BLiMP)

Tables may use the other's names, and say what a pair is of in a column of GROUPS; a text's pairs
are all of what its file is called.
"""

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from corpora.text import lines

KINDS = (".txt", ".csv", ".tsv", ".jsonl")
GOOD, BAD = ("good", "sentence_good"), ("bad", "sentence_bad")
GROUPS = ("construction", "UID", "phenomenon", "linguistics_term")  # the first that is there


class Line(NamedTuple):
    """A pair as it is written, or what is wrong with a line."""

    where: str  # the file and the line
    construction: str = ""
    good: str = ""
    bad: str = ""
    columns: Mapping[str, Any] = {}  # what a table says of the pair beside
    fault: str | None = None


def read_lines(path: Path) -> Iterator[Line]:
    """Every pair of a file; what cannot be read is a fault, and reading goes on behind it."""
    if path.suffix == ".txt":
        return _of_text(path)
    return _of_rows(path, _objects(path) if path.suffix == ".jsonl" else _table(path))


def _of_text(path: Path) -> Iterator[Line]:
    good, where = None, f"{path}, line 1"
    for number, line in enumerate(lines(path), start=1):
        line = line.removeprefix("\ufeff") if number == 1 else line
        line = line.rstrip("\r\n")
        kind, _, sentence = line.partition("\t")
        expected = "True" if good is None else "False"
        where = f"{path}, line {number}"
        if kind != expected or not sentence.strip():
            fault = f"expected {expected}, a tab and a sentence; got {line!r}"
            yield Line(where, fault=fault)
            # A right sentence that stands where a wrong one should may begin the next pair.
            good = sentence if kind == "True" and sentence.strip() else None
        elif good is None:
            good = sentence
        else:
            yield Line(where, path.stem, good, sentence)
            good = None
    if good is not None:
        yield Line(where, fault=f"expected a False line at the end, after {good!r}")


def _of_rows(path: Path, rows: Iterator[tuple[int, dict[str, Any] | str]]) -> Iterator[Line]:
    for number, row in rows:
        where = f"{path}, line {number}"
        if isinstance(row, str):
            yield Line(where, fault=row)
            continue
        good, bad = (_first(row, names) for names in (GOOD, BAD))
        if not (isinstance(good, str) and isinstance(bad, str) and good.strip() and bad.strip()):
            named = f"{' or '.join(GOOD)} and {' or '.join(BAD)}"
            yield Line(where, fault=f"expected a sentence in {named}; got {row!r}")
            continue
        others = {name: value for name, value in row.items() if name not in (*GOOD, *BAD)}
        yield Line(where, str(_first(row, GROUPS) or path.stem), good, bad, others)


def _first(row: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


def _table(path: Path) -> Iterator[tuple[int, dict[str, str] | str]]:
    text = (line.removeprefix("\ufeff") for line in lines(path))
    first = next(text, "")
    separator = "\t" if path.suffix == ".tsv" else max(";,", key=first.count)
    rows = csv.reader([first, *text], delimiter=separator)
    try:
        header = next(rows, [])
        for row in rows:
            if not any(row):
                continue
            fits = len(row) == len(header)
            fault = f"expected {len(header)} columns as in the header, got {len(row)}"
            yield rows.line_num, dict(zip(header, row, strict=True)) if fits else fault
    except csv.Error as error:  # a carriage return in a row, a field without end
        yield rows.line_num, f"expected a row of a table: {error}"


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    for number, line in enumerate(lines(path), start=1):
        line = line.removeprefix("\ufeff").strip()
        if not line:
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            row = f"expected a JSON object; {error}"
        yield number, row if isinstance(row, dict | str) else f"expected an object, got {line!r}"
