"""The files that a suite may be written in, read as they stand: pairs of sentences and lines.

    .txt            `True`, a tab and a right sentence; then `False`, a tab and a wrong one (CLAMS)
    .csv, .tsv      columns `good` and `bad`
    .jsonl          an object a line, with `sentence_good` and `sentence_bad` (BLiMP)

Tables may use the other's names, and say what a pair is of in a column of GROUPS; a text's pairs
are all of what its file is called.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from accord.corpora.text import lines, parse_line, table_rows

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
    return _of_rows(path, _objects(path) if path.suffix == ".jsonl" else table_rows(path, ";,"))


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


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    for number, line in enumerate(lines(path), start=1):
        line = line.removeprefix("\ufeff").strip()
        if not line:
            continue
        yield number, _object(line)


def _object(line: str) -> dict[str, Any] | str:
    try:
        row = parse_line(line)
    except ValueError as error:
        return f"expected a JSON object; {error}"
    return row if isinstance(row, dict) else f"expected an object, got {line[:100]!r}"
