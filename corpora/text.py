"""A sentence of a corpus; text files, compressed or not: plain text, lines of JSON, tables.

Every fault of a file is one kind of error, which names the place.
"""

import bz2
import csv
import gzip
import json
import lzma
import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from accord.errors import AccordError

OPENERS = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
HALF = re.compile("[\ud800-\udfff]")  # of a character: no text has it, but an escape can write it


class CorpusError(AccordError):
    """A source that cannot be read; the message says what was expected and what was found."""


class TreebankRow(NamedTuple):
    """One row of a treebank sentence."""

    form: str
    kind: str  # word, contracted, part or empty: `des` is contracted, `de` and `les` its parts


class Sentence(NamedTuple):
    """Text with, where a treebank fixed them, its words.

    `rows` is None for raw text, whose words the tokeniser makes. `split` is the source's own name
    for the part the sentence belongs to, or None where the pipeline is to split. `labels` are
    facts that the source has of the sentence, as pairs: `("genre", "news")`. `document` names an
    article, a headword or a file. Readers of files leave it None where a file is one document.
    """

    id: str
    text: str
    rows: tuple[TreebankRow, ...] | None = None
    split: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    document: str | None = None


class Unwanted(NamedTuple):
    """A text that a reader leaves out of its corpus, and why."""

    reason: str


# Which kinds of rows are words.
VIEWS = {
    "surface": frozenset({"word", "contracted"}),
    "syntactic": frozenset({"word", "part"}),
    "rows": frozenset({"word", "contracted", "part"}),
}


def words(rows: Iterable[tuple[str, str]], view: str) -> list[str]:
    """Return the forms of a treebank sentence that `view` (a key of VIEWS) counts as words."""
    if view not in VIEWS:
        raise AccordError(f"unknown view {view!r}: expected one of {', '.join(VIEWS)}")
    kinds = VIEWS[view]
    return [form for form, kind in rows if kind in kinds]


def open_bytes(path: Path, mode: str = "rb") -> BinaryIO:
    """Open a file to read or write its bytes, compressed if its name ends in one of OPENERS."""
    return OPENERS.get(path.suffix, open)(path, mode)


def kind(path: Path) -> str:
    """Return the ending that tells the format: `.txt` for both `a.txt` and `a.txt.gz`."""
    return Path(path.stem).suffix if path.suffix in OPENERS else path.suffix


def lines(path: Path, encoding: str = "utf-8") -> Iterator[str]:
    """Yield the lines of a file with their line ends; only `\\n` ends a line."""
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
        raise CorpusError(
            f"{path}: expected {encoding.upper()}, found byte 0x{byte:02x} at {place}; if this is "
            f"a text, save it as UTF-8 (in Excel: CSV UTF-8)"
        ) from None
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk, not the content
            raise
        raise CorpusError(f"{path}: the compressed file is damaged or cut short: {error}") from None


def numbered(path: Path, among: range | None = None) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file, numbered from 1; `among` chooses some, counted from 0."""
    pairs = enumerate(lines(path), start=1)
    return islice(pairs, among.start, among.stop) if among else pairs


def read(path: Path, split: str | None = None) -> Iterator[Sentence]:
    """Yield the sentences of plain text, one for every line that is not blank.

    A sentence is named by its line. A blank line ends a document, which is named by its first line.
    """
    first = None  # line of the document
    for number, line in numbered(path):
        text = line.removeprefix("\ufeff").strip() if number == 1 else line.strip()
        if text:
            first = first or number
            yield Sentence(f"{path.name}:{number}", text, split=split, document=str(first))
        else:
            first = None


def parse_line(line: str) -> Any:
    """Return the value of a line of JSON; every fault is a ValueError."""
    try:
        value = json.loads(line)
        halves = "\\ud" in line.lower() and HALF.search(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        raise AccordError("it is nested too deeply") from None
    if halves:
        raise AccordError("it holds half of a character, a single surrogate")
    return value


def table_rows(
    path: Path, separators: str, encoding: str = "utf-8"
) -> Iterator[tuple[int, dict[str, str] | str]]:
    """Yield the rows of a table that are not empty, each with the number of its last line.

    A row is a dictionary by the names of the header. A bad row is its error message. Tabs separate
    the columns of a TSV; elsewhere it is the most frequent separator of the header.
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
