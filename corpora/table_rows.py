"""Tables as text, CSV or TSV: each row under the names of the header, or what is wrong with it."""

import csv
from collections.abc import Iterator
from pathlib import Path

from corpora.text import kind, lines


def table_rows(path: Path, separators: str) -> Iterator[tuple[int, dict[str, str] | str]]:
    """The rows that are not empty, each with its last line; a text instead of one is its fault.

    Columns are parted by tabs in a TSV, elsewhere by what the header has most of.
    """
    text = (line.removeprefix("\ufeff") for line in lines(path))
    first = next(text, "")
    separator = "\t" if kind(path) == ".tsv" else max(separators, key=first.count)
    rows = csv.reader([first, *text], delimiter=separator, strict=True)
    try:
        header = next(rows, [])
        if twice := sorted({name for name in header if header.count(name) > 1}):
            yield rows.line_num, f"expected columns of different names, got {twice[0]!r} again"
            return
        for row in rows:
            if not any(row):
                continue
            fits = len(row) == len(header)
            fault = f"expected {len(header)} columns as in the header, got {len(row)}"
            yield rows.line_num, dict(zip(header, row, strict=True)) if fits else fault
    except csv.Error as error:  # a carriage return in a row, a field without end
        yield rows.line_num, f"expected a row of a table: {error}"
