"""Text files, compressed or not: plain text, lines of JSON and rows of tables.

Whatever is wrong with a file is one kind of error, which names the place.
"""

import bz2
import csv
import gzip
import json
import lzma
import re
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from accord.corpora.sentence import Sentence
from accord.errors import AccordError

OPENERS = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
HALF = re.compile("[\ud800-\udfff]")  # of a character: no text has it, but an escape can write it


class CorpusError(AccordError):
    """A source that cannot be read; the message says what was expected and what was found."""


def open_bytes(path: Path, mode: str = "rb") -> BinaryIO:
    """A file's bytes to read or write, compressed if its name ends in one of OPENERS."""
    return OPENERS.get(path.suffix, open)(path, mode)


def kind(path: Path) -> str:
    """The ending that says what a file holds: `.txt` for both `a.txt` and `a.txt.gz`."""
    return Path(path.stem).suffix if path.suffix in OPENERS else path.suffix


def lines(path: Path, encoding: str = "utf-8") -> Iterator[str]:
    """The lines of a file with their line ends; only `\\n` ends a line."""
    offset = 0
    try:
        with open_bytes(path) as file:
            for line in file:
                yield line.decode(encoding)
                offset += len(line)
        if path.suffix in OPENERS and not path.stat().st_size:  # which gzip takes for no text
            raise EOFError("it has no bytes at all")
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        place = f"byte offset {offset + error.start}"
        if path.suffix in OPENERS:
            place += " of the decompressed text"
        name = encoding.upper()
        raise CorpusError(
            f"{path}: expected {name}, found byte 0x{byte:02x} at {place}; if this is a text, save "
            f"it as UTF-8 (in Excel: CSV UTF-8)"
        ) from None
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk, not the content
            raise
        raise CorpusError(f"{path}: the compressed file is damaged or cut short: {error}") from None


def numbered(path: Path, among: range | None = None) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers from 1; `among` chooses some, counted from 0."""
    found = enumerate(lines(path), start=1)
    return islice(found, among.start, among.stop) if among else found


def read(path: Path, split: str | None = None) -> Iterator[Sentence]:
    """The sentences of plain text: every line that is not blank is one, named by its number.

    A blank line ends a document, which is named by the number of its first line.
    """
    first = None  # line of the document
    for number, line in enumerate(lines(path), start=1):
        text = line.removeprefix("\ufeff").strip() if number == 1 else line.strip()
        if text:
            first = first or number
            yield Sentence(f"{path.name}:{number}", text, split=split, document=str(first))
        else:
            first = None


def parse_line(line: str) -> Any:
    """The value of a line of JSON; every fault is a ValueError."""
    try:
        found = json.loads(line)
        halves = "\\ud" in line.lower() and HALF.search(json.dumps(found, ensure_ascii=False))
    except RecursionError:
        raise AccordError("it is nested too deeply") from None
    if halves:
        raise AccordError("it holds half of a character, a single surrogate")
    return found


def table_rows(
    path: Path, separators: str, encoding: str = "utf-8"
) -> Iterator[tuple[int, dict[str, str] | str]]:
    """The rows of a table that are not empty, each with the number of its last line.

    A row is a dictionary with the names of the header as keys. For a bad row, the error message is
    returned instead.

    Tabs separate the columns of a TSV; elsewhere it is the separator that the header has most of.
    """
    text = (line.removeprefix("\ufeff") for line in lines(path, encoding))
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
