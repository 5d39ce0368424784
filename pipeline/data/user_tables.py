"""Read users' own tables: CSV, TSV, Parquet, Excel; a text is a table of its lines."""

from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from accord.corpora.text import CorpusError, kind, lines, table_rows
from accord.errors import AccordError
from accord.lexicon.index import parquet
from accord.pipeline.base.messages import counted, say
from accord.pipeline.base.tables import EXCEL, PARQUET, TABLES

NO_TEXTS = (".json", ".jsonl", ".xls", ".ods")  # tables too, which would read as lines
SEPARATORS = "\t;,"
# Encodings of older programs: on Windows a superset of Latin-1, on a Mac Mac Roman.
WINDOWS, MAC = "cp1252", "mac_roman"
OLD_ENCODINGS = {WINDOWS: "Windows-1252 (Latin-1)", MAC: "Mac Roman"}
FRENCH_SIGNS = frozenset("àâçèéêëîïôùûœÀÇÉ’«»…–—")


def read_table(path: Path, column: str) -> pd.DataFrame:
    """Read the table of a file, its columns as they are written."""
    if kind(path) in NO_TEXTS:
        raise AccordError(f"{path}: expected a text, or a name that ends in {', '.join(TABLES)}")
    if kind(path) in READERS:
        return _read_binary(path)
    encoding = _encoding(path)
    _check_line_ends(path, encoding)
    if kind(path) not in TABLES:
        text = (line.removeprefix("\ufeff").strip() for line in lines(path, encoding))
        numbered = [(number, line) for number, line in enumerate(text, start=1) if line]
        return pd.DataFrame(numbered, columns=["line", column])
    rows = list(table_rows(path, SEPARATORS, encoding))
    if faults := [f"{path}, line {line}: {row}" for line, row in rows if isinstance(row, str)]:
        raise AccordError("\n".join(faults))
    if not rows:
        raise AccordError(f"{path}: expected a table with a header and rows, found none")
    if empty := _empty_lines(rows):
        say(
            f"{path}: {counted(len(empty), 'empty line')} left out, and rows are counted without: "
            f"line {', '.join(map(str, empty)):.200}"
        )
    return pd.DataFrame([row for _, row in rows])


def _empty_lines(rows: Sequence[tuple[int, dict[str, str]]]) -> list[int]:
    """Return the empty lines between rows; a row may take several lines."""
    empty, last = [], rows[0][0]
    for line, row in rows[1:]:
        first = line - sum(cell.count("\n") for cell in row.values())
        empty += range(last + 1, first)
        last = line
    return empty


def _encoding(path: Path) -> str:
    """Return UTF-8, or the older encoding in which a file has the most French signs.

    Every byte is a character in Mac Roman, so a file without such signs is not read as that.
    """
    with path.open("rb") as file:
        if file.read(2) in (BOM_UTF16_LE, BOM_UTF16_BE):
            raise AccordError(
                f"{path}: expected UTF-8, found UTF-16; save it as UTF-8 (in Excel: CSV UTF-8)"
            )
    try:
        for _ in lines(path):
            pass
    except CorpusError as fault:
        signs = {encoding: _french_signs(path, encoding) for encoding in OLD_ENCODINGS}
        encoding = max(signs, key=signs.__getitem__)  # Windows-1252 if both have as many
        if encoding == MAC and not signs[MAC]:
            raise fault from None
        say(f"{path} is not UTF-8: it is read as {OLD_ENCODINGS[encoding]}")
        return encoding
    return "utf-8"


def _french_signs(path: Path, encoding: str) -> int:
    """Count the French signs of a file in an encoding; −1 if it cannot be decoded."""
    try:
        return sum(sign in FRENCH_SIGNS for line in lines(path, encoding) for sign in line)
    except CorpusError:
        return -1


def _check_line_ends(path: Path, encoding: str) -> None:
    """Reject carriage returns alone: all lines would be read as one."""
    if "\r" in next(lines(path, encoding), "").rstrip("\r\n"):
        raise AccordError(
            f"{path}: expected lines that end in a line feed, found carriage returns alone; save "
            f"it as UTF-8 (in Excel: CSV UTF-8)"
        )


def _parquet(path: Path) -> pd.DataFrame:
    table = parquet.read_table(path)
    table.validate(full=True)
    return table.to_pandas()


READERS = {PARQUET: (_parquet, "a table in Parquet"), EXCEL: (pd.read_excel, "a workbook of Excel")}


def _read_binary(path: Path) -> pd.DataFrame:
    """Read a table in Parquet, or the first sheet of a workbook."""
    read, expected = READERS[kind(path)]
    try:
        return read(path)
    except ImportError:
        how = "`pip install 'accord-lm[excel]'` brings what reads it"
        raise AccordError(f"{path}: {how}") from None
    except Exception as error:  # which is anything if the file is damaged
        if isinstance(error, OSError) and error.errno is not None:  # the disk, not the content
            raise
        raise AccordError(f"{path}: expected {expected}; {error}") from None
