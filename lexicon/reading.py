"""Reading a lexicon's text file: what cannot be read is named, counted, and never guessed at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class LexiconError(ValueError):
    """A lexicon, or a row of one, that cannot be used as it is."""


class Row(NamedTuple):
    """One analysis of one form, as a reader yields it."""

    form: str
    lemma: str
    upos: str
    feats: str = ""
    count: float = 1.0


class Skipped(NamedTuple):
    """Rows left out for one reason, with the first of them: `file:line: text`."""

    reason: str
    count: int
    examples: tuple[str, ...]


class Report:
    """Collects the rows of one file that a reader leaves out; in strict mode a bad one raises."""

    EXAMPLES = 20

    def __init__(self, path: Path, strict: bool = False):
        self.path = path
        self.strict = strict
        self._counts: dict[str, int] = {}
        self._examples: dict[str, list[str]] = {}

    def bad(self, line: int, reason: str, text: str) -> None:
        """A row that breaks the format."""
        if self.strict:
            raise LexiconError(f"{self.path}:{line}: {reason}: {text!r}")
        self.left_out(line, reason, text)

    def left_out(self, line: int, reason: str, text: str) -> None:
        """A sound row that is no word of a text: an entry of several words, a marker."""
        self._counts[reason] = self._counts.get(reason, 0) + 1
        examples = self._examples.setdefault(reason, [])
        if len(examples) < self.EXAMPLES:
            examples.append(f"{self.path.name}:{line}: {text}")

    def skipped(self) -> tuple[Skipped, ...]:
        return tuple(
            Skipped(reason, count, tuple(self._examples[reason]))
            for reason, count in self._counts.items()
        )


def lines(path: Path, report: Report, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """The numbered lines of a file, without their ends. An undecodable line is a bad row."""
    offset = 0
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                yield number, raw.decode(encoding).rstrip("\r\n")
            except UnicodeDecodeError as error:
                where = f"byte {offset + error.start} is not {encoding}"
                report.bad(number, where, raw.decode(encoding, "backslashreplace").rstrip("\r\n"))
            offset += len(raw)
    if offset == 0:
        raise LexiconError(f"{path}: the file is empty; fetch it again")


def complete_lines(path: Path, report: Report, encoding: str = "utf-8"):
    """Lines of a published file, which ends with a line's end unless it was cut short."""
    with path.open("rb") as file:
        file.seek(0, 2)
        size = file.tell()
        file.seek(max(size - 1, 0))
        whole = file.read() == b"\n"
    last = (0, "")
    for last in lines(path, report, encoding):
        yield last
    if not whole:
        report.bad(last[0], "the file ends inside this line: a download cut short", last[1])
