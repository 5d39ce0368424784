"""Reading an ARPA file, line by line."""

import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from accord.models.ngram.arpa.notation import NEVER, START, STOP, check_forms, open_arpa
from accord.models.ngram.counts import END, contexts_of, nodes_of, pack
from accord.models.ngram.model import NGrams, Table

MOST = 300  # as a logarithm: what a number holds


class Listed(NamedTuple):
    """The n-grams of one order as a file lists them."""

    ids: np.ndarray  # (N × order)
    p: np.ndarray
    backoff: np.ndarray
    lines: np.ndarray


def read_arpa(path: Path, forms: Sequence[str], others: str | None = None) -> NGrams:
    """The model of a file that is over these words; what is wrong with it is named by line.

    With `others`, n-grams with further words are left out; that form is the one that stands for
    words which the file lacks, and as rare as its rarest if the file has no such form.
    """
    check_forms(forms, len(forms))
    ids = {form: number for number, form in enumerate(forms)} | {START: END}
    skip = others is not None
    with open_arpa(path, "rb") as file:
        lines = _Lines(path, file)
        sizes = _sizes(lines)
        listed = [_section(lines, n, size, ids, skip) for n, size in enumerate(sizes, start=1)]
        lines.expect("\\end\\")
        lines.expect_no_more()
    if others is not None and ids[others] not in listed[0].ids:
        listed[0] = _with_rarest(listed[0], ids[others])
    unigrams = listed[0]
    if len(unigrams.ids) != len(forms):
        missing = np.setdiff1d(np.arange(len(forms)), unigrams.ids)[0]
        raise ValueError(
            f"{path}: expected all {len(forms)} words of the vocabulary among the 1-grams; "
            f"'{forms[missing]}' is missing"
        )
    return NGrams(_tables(listed, len(forms), path), len(forms))


def words_of_arpa(path: Path) -> set[str]:
    """The words that a file lists, `<s>` aside."""
    with open_arpa(path, "rb") as file:
        lines = _Lines(path, file)
        unigrams = (_fields(lines, lines.next("1-grams"), 1) for _ in range(_sizes(lines)[0]))
        return {word for _, (word,), _ in unigrams} - {START}


def _with_rarest(unigrams: Listed, word: int) -> Listed:
    """The 1-grams and one more, whose p is the lowest that any has."""
    lowest = unigrams.p[unigrams.p > 10**NEVER].min(initial=1.0)
    more = (np.array([[word]]), [lowest], [1.0], [0])
    return Listed(*(np.concatenate(pair) for pair in zip(unigrams, more, strict=True)))


class _Lines:
    """The lines of a file that are not empty, by number, and complaints about them."""

    def __init__(self, path: Path, file: BinaryIO):
        self.path, self.number = path, 0
        self.lines = self._filled(file)

    def _filled(self, file: BinaryIO) -> Iterator[str]:
        try:
            for self.number, line in enumerate(file, start=1):
                if line := line.rstrip(b"\r\n"):
                    yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.wrong("UTF-8", f"the byte 0x{error.object[error.start]:02x}") from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self.wrong("a whole compressed file", f"damage: {error}") from None
        self.number += 1

    def next(self, expected: str) -> str:
        line = next(self.lines, None)
        if line is None:
            raise self.wrong(expected, "the end of the file")
        return line

    def expect(self, expected: str) -> None:
        line = self.next(expected)
        if line.strip() != expected:
            raise self.wrong(expected, f"'{line}'")

    def expect_no_more(self) -> None:
        if (line := next(self.lines, None)) is not None:
            raise self.wrong("nothing after \\end\\", f"'{line}'")

    def wrong(self, expected: str, found: str) -> ValueError:
        return ValueError(f"{self.path}, line {self.number}: expected {expected}, found {found}")


def _sizes(lines: _Lines) -> list[int]:
    """How many n-grams of each order the file's head promises; the line after it is read too."""
    lines.expect("\\data\\")
    sizes: list[int] = []
    while (line := lines.next("'ngram 1=…' or '\\1-grams:'")).startswith("ngram "):
        order, _, size = (part.strip() for part in line.removeprefix("ngram ").partition("="))
        if order != str(len(sizes) + 1) or not re.fullmatch("[0-9]{1,18}", size):
            raise lines.wrong(f"'ngram {len(sizes) + 1}=' and a number", f"'{line}'")
        if not int(size):
            raise lines.wrong(f"n-grams of order {order}, or no such order", "none")
        sizes.append(int(size))
    if not sizes or line.strip() != "\\1-grams:":
        raise lines.wrong("'\\1-grams:'" if sizes else "'ngram 1=' and a number", f"'{line}'")
    return sizes


def _section(
    lines: _Lines, order: int, size: int, ids: dict[str, int], skip: bool = False
) -> Listed:
    if order > 1:
        lines.expect(f"\\{order}-grams:")
    rows, p, backoff, numbers = [], [], [], []
    start_weight = 1.0
    expected = f"{size} {order}-grams as the head says"
    for _ in range(size):
        line = lines.next(expected)
        if line.startswith("\\") and "\t" not in line:
            raise lines.wrong(expected, f"fewer, then '{line}'")
        log_p, words, weight = _fields(lines, line, order)
        if START in words[1:] or STOP in words[:-1]:
            raise lines.wrong(f"{START} first and {STOP} last in an n-gram", f"'{line}'")
        if words == [START]:
            start_weight = weight
            continue
        if skip and not ids.keys() >= {*words}:
            continue
        try:
            rows.append([ids[word] for word in words])
        except KeyError as unknown:
            raise lines.wrong("words of the vocabulary", str(unknown)) from None
        p.append(10**log_p)
        backoff.append(1.0 if words[-1] == STOP else weight)
        numbers.append(lines.number)
    found = Listed(
        np.array(rows, np.int64).reshape(-1, order), *map(np.array, (p, backoff, numbers))
    )
    if order == 1:  # END's own weight is that of the sentence's start, which it stands for
        found.backoff[found.ids[:, 0] == END] = start_weight
    return found


def _fields(lines: _Lines, line: str, order: int) -> tuple[float, list[str], float]:
    fields = [field for field in line.replace("\t", " ").split(" ") if field]
    if len(fields) not in (order + 1, order + 2):
        raise lines.wrong(f"log p, {order} words and perhaps a backoff weight", f"'{line}'")
    numbers = (fields[0], (*fields, "0")[order + 1])
    try:
        log_p, weight = map(float, numbers)
    except ValueError:
        raise lines.wrong("numbers before and after the words", f"'{line}'") from None
    if not log_p <= 0 or "_" in numbers[0]:
        raise lines.wrong("a log-probability of at most 0", numbers[0])
    if not abs(weight) <= MOST or "_" in numbers[1]:
        raise lines.wrong(f"a backoff weight from {-MOST} to {MOST}", numbers[1])
    return log_p, fields[1 : order + 1], 10**weight


def _tables(listed: Sequence[Listed], words: int, path: Path) -> list[Table]:
    """The tables: a node for each context that has n-grams or a weight, or is part of one."""
    rows: list[np.ndarray] = []
    longer = np.zeros((0, len(listed)), np.int64)
    for shorter, full in zip(listed[-2::-1], listed[:0:-1], strict=True):
        weighted = shorter.ids[shorter.backoff != 1]
        longer = np.concatenate([full.ids[:, :-1], weighted, longer[:, 1:]])
        rows.insert(0, longer)
    contexts = contexts_of(rows, words)
    tables = []
    for length, ngrams in enumerate(listed):
        keys = pack(nodes_of(ngrams.ids[:, :-1], contexts, words), ngrams.ids[:, -1], words)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        again = np.flatnonzero(keys[1:] == keys[:-1])
        if len(again):
            first, second = ngrams.lines[order][again[0] : again[0] + 2]
            raise ValueError(
                f"{path}, line {second}: expected each n-gram once, found that of line {first}"
            )
        backoff = np.ones(len(contexts[length]))
        if length:
            weighted = listed[length - 1].backoff != 1
            nodes = nodes_of(listed[length - 1].ids[weighted], contexts, words)
            backoff[nodes] = listed[length - 1].backoff[weighted]
        tables.append(Table(contexts[length], keys, ngrams.p[order], backoff))
    return tables
