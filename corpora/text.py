"""Plain text files, compressed or not: one sentence a line, UTF-8."""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from corpora.sentence import Sentence

OPENERS = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}


class CorpusError(ValueError):
    """A source that cannot be read; the message says what was expected, what came and where."""


def open_bytes(path: Path, mode: str = "rb") -> BinaryIO:
    """A file's bytes to read or write, compressed if its name ends in one of OPENERS."""
    return OPENERS.get(path.suffix, open)(path, mode)


def kind(path: Path) -> str:
    """The ending that says what a file holds: `.txt` for both `a.txt` and `a.txt.gz`."""
    return Path(path.stem).suffix if path.suffix in OPENERS else path.suffix


def lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file with their line ends; only `\\n` ends a line."""
    offset = 0
    try:
        with open_bytes(path) as file:
            for line in file:
                yield line.decode("utf-8")
                offset += len(line)
        if path.suffix in OPENERS and not path.stat().st_size:  # which gzip takes for no text
            raise EOFError("it has no bytes at all")
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        place = f"byte offset {offset + error.start}"
        if path.suffix in OPENERS:
            place += " of the decompressed text"
        raise CorpusError(f"{path}: expected UTF-8, found byte 0x{byte:02x} at {place}") from None
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk, not the content
            raise
        raise CorpusError(f"{path}: the compressed file is damaged or cut short: {error}") from None


def read(path: Path, split: str | None = None) -> Iterator[Sentence]:
    """One sentence for every line that holds more than white space, named by its line."""
    for number, line in enumerate(lines(path), start=1):
        text = line.removeprefix("\ufeff").strip() if number == 1 else line.strip()
        if text:
            yield Sentence(f"{path.name}:{number}", text, split=split)
