"""Read the text file of a lexicon; name and count the rows that cannot be read."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from accord.errors import AccordError

AUXILIARIES = {"avoir", "être"}  # AUX or VERB by their use in Universal Dependencies


class LexiconError(AccordError):
    """A lexicon, or a row of one, that cannot be used as it is."""


class BadRow(Exception):
    """Why a row breaks its file's format."""


class LeftOut(Exception):
    """Why a sound row is no word of a text: an entry of several words, a marker."""


class LexiconRow(NamedTuple):
    """One analysis of one form, as a reader yields it."""

    form: str
    lemma: str
    upos: str
    feats: str = ""
    count: float = 1.0


class Skipped(NamedTuple):
    """How many rows were left out for one reason, and the first of them: `file:line: text`."""

    reason: str
    count: int
    example: str

    def __str__(self) -> str:
        rows = "row" if self.count == 1 else "rows"
        such_as = "" if self.count == 1 else "the first is "
        return f"{self.count:,} {rows} left out: {self.reason}; {such_as}{self.example}"


class Report:
    """Collects the rows of one file that a reader leaves out; in strict mode a bad one raises."""

    def __init__(self, path: Path, strict: bool = False):
        self.path = path
        self.strict = strict
        self.line = 0  # that is being parsed
        self._skipped: dict[str, Skipped] = {}  # by reason

    def bad(self, line: int, reason: str, text: str) -> None:
        """A row that breaks the format."""
        if self.strict:
            raise LexiconError(f"{self.path}:{line}: {reason}: {text!r}")
        self.left_out(line, reason, text)

    def left_out(self, line: int, reason: str, text: str) -> None:
        """A sound row that is no word of a text."""
        first = Skipped(reason, 0, f"{self.path.name}:{line}: {text}")
        before = self._skipped.get(reason, first)
        self._skipped[reason] = before._replace(count=before.count + 1)

    def skipped(self) -> tuple[Skipped, ...]:
        return tuple(self._skipped.values())


# Characters that no word has: control characters (tabs separate columns) and line ends.
NOT_TEXT = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")


def lines(
    path: Path, report: Report, encoding: str = "utf-8", cut_short: bool = False
) -> Iterator[tuple[int, str]]:
    """The numbered lines of a file, without their ends. A line that is not text is a bad row.

    With `cut_short`, a last line without an end is one too: published files end with a line end.
    """
    number = 0
    with path.open("rb") as file:
        for number, raw in enumerate(file, start=1):
            try:
                line = raw.decode(encoding).rstrip("\r\n")
            except UnicodeDecodeError:
                fault = f"expected {encoding.upper()}, found other bytes"
                line = raw.decode(encoding, "backslashreplace").rstrip("\r\n")
            else:
                line = line.removeprefix("\ufeff") if number == 1 else line
                fault = _fault(line, raw, encoding)
            if cut_short and not raw.endswith(b"\n"):
                fault = "the file ends inside this line: a download cut short"
            if fault:
                report.bad(number, fault, line)
            else:
                yield number, line
    if not number:
        raise LexiconError(f"{path}: the file is empty")


def _fault(line: str, raw: bytes, encoding: str) -> str | None:
    """Why a line is not text although it could be decoded."""
    if found := NOT_TEXT.search(line):
        return f"the character {found.group()!r} is in no word"
    if encoding == "utf-8" or raw.isascii():
        return None
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return f"the line is UTF-8, expected {encoding}"  # which has no letters that look like UTF-8


def rows(
    numbered: Iterable[tuple[int, str]], report: Report, parse: Callable[[str], list[LexiconRow]]
) -> Iterator[LexiconRow]:
    """The rows that `parse` returns for each line; lines that it rejects are reported."""
    for number, line in numbered:
        report.line = number
        try:
            yield from parse(line)
        except BadRow as fault:
            report.bad(number, str(fault), line)
        except LeftOut as reason:
            report.left_out(number, str(reason), line)
        except KeyError as tag:  # which a reader's tables do not have
            report.bad(number, f"unknown tag {tag}", line)


def columns(line: str, count: int) -> list[str]:
    """The cells of a line, separated by tabs."""
    cells = line.split("\t")
    if len(cells) != count:
        raise BadRow(f"{count} columns expected, {len(cells)} found")
    return cells


def check_word(form: str, lemma: str) -> None:
    if not form or not lemma:
        raise BadRow("no form or no lemma")
    if " " in form:
        raise LeftOut("an entry of several words")


def with_auxiliary(rows: list[LexiconRow]) -> list[LexiconRow]:
    """The rows of a word. Avoir and être also have rows as AUX, which some lexicons lack."""
    verbs = (row for row in rows if row.upos == "VERB" and row.lemma in AUXILIARIES)
    return [*rows, *(row._replace(upos="AUX") for row in verbs)]


def header(path: Path, numbered: Iterator[tuple[int, str]]) -> str:
    """The first line of a file, which must be readable for any other to be."""
    number, line = next(numbered, (0, ""))
    if number != 1:
        raise LexiconError(f"{path}:1: the header cannot be read")
    return line


def check_names(path: Path, names: Sequence[str], required: Sequence[str]) -> None:
    """A header must name every column that is read, and once."""
    lacking = [name for name in required if name not in names]
    twice = sorted({name for name in names if names.count(name) > 1})
    if lacking or twice:
        fault = f"no column {', '.join(lacking)}" if lacking else f"twice {', '.join(twice)}"
        raise LexiconError(
            f"{path}:1: {fault}; the header must name {', '.join(required)}, "
            f"it names {', '.join(names)}"
        )


def amount(text: str) -> float:
    """A count or a frequency."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf or "_" in text:
        raise BadRow(f"expected a number from 0, got {text!r}")
    return value
