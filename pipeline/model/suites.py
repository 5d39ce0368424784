"""Suites read from files and turned into ids.

    .txt            `True`, a tab and a right sentence; then `False`, a tab and a wrong one (CLAMS)
    .csv, .tsv      columns `good` and `bad`
    .jsonl          an object a line, with `sentence_good` and `sentence_bad` (BLiMP)

Both tables may have each other's columns, or those that `Columns` names. A column of GROUPS is the
construction of a pair; without one, and in texts, it is the name of the file.

Sentences are tokenised as `accord score` tokenises them. A pair of equal sentences is left out and
named.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from accord.corpora.text import lines, parse_line, table_rows
from accord.corpora.tokenise import tokenised
from accord.errors import AccordError, NotFoundError
from accord.pipeline.base.messages import say
from accord.pipeline.base.names import END_ID
from accord.pipeline.data.catalogue import MissingData, folder_of
from accord.pipeline.data.encoded import Suite
from accord.pipeline.model.words import Vocabulary

KINDS = (".txt", ".csv", ".tsv", ".jsonl")
GROUPS = ("construction", "UID", "phenomenon", "linguistics_term")  # the first that is there


class Columns(NamedTuple):
    """Names of the columns with the right and the wrong sentence; the first that exists counts."""

    good: tuple[str, ...] = ("good", "sentence_good")
    bad: tuple[str, ...] = ("bad", "sentence_bad")

    @classmethod
    def named(cls, good: str | None, bad: str | None) -> "Columns":
        """Return the columns that the user names, else the usual names."""
        return cls((good,) if good else USUAL.good, (bad,) if bad else USUAL.bad)

    def __str__(self) -> str:
        return " and ".join(" or ".join(names) for names in self)


USUAL = Columns()


class Line(NamedTuple):
    """A pair as it is written, or the fault of a line."""

    where: str  # the file and the line
    construction: str = ""
    good: str = ""
    bad: str = ""
    columns: Mapping[str, Any] = {}  # further columns of a table
    fault: str | None = None


def read_lines(path: Path, columns: Columns = USUAL) -> Iterator[Line]:
    """Read every pair of a file; a faulty line is reported, and the next one is read."""
    if path.suffix == ".txt":
        return _read_text(path)
    rows = _objects(path) if path.suffix == ".jsonl" else table_rows(path, ";,")
    return _read_rows(path, [*rows], columns)


def _read_text(path: Path) -> Iterator[Line]:
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


def _read_rows(
    path: Path, rows: Sequence[tuple[int, dict[str, Any] | str]], columns: Columns
) -> Iterator[Line]:
    header = dict.fromkeys(name for _, row in rows if isinstance(row, dict) for name in row)
    if header and any(header.keys().isdisjoint(names) for names in columns):
        fault = (
            f"expected the columns {columns}; found {', '.join(header)}. "
            f"`accord agree --good COLUMN --bad COLUMN` names the two"
        )
        yield Line(str(path), fault=fault)  # once, not for each row
        rows = [(number, row) for number, row in rows if isinstance(row, str)]
    for number, row in rows:
        where = f"{path}, line {number}"
        if isinstance(row, str):
            yield Line(where, fault=row)
            continue
        good, bad = (_first(row, names) for names in columns)
        if not (isinstance(good, str) and isinstance(bad, str) and good.strip() and bad.strip()):
            yield Line(where, fault=f"expected a sentence in {columns}; got {row!r}")
            continue
        others = {n: value for n, value in row.items() if n not in (*columns.good, *columns.bad)}
        yield Line(where, str(_first(row, GROUPS) or path.stem), good, bad, others)


def _first(row: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    for number, line in enumerate(lines(path), start=1):
        line = line.removeprefix("\ufeff").strip()
        if not line:
            continue
        try:
            row = parse_line(line)
        except ValueError as error:
            yield number, f"expected a JSON object; {error}"
        else:
            is_object = isinstance(row, dict)
            yield number, row if is_object else f"expected an object, got {line[:100]!r}"


INSIDE = "\u00a0"  # a space within a word, such as that of 50 000


class Pair(NamedTuple):
    """Two sentences, each as its words with spaces between them."""

    construction: str
    good: str
    bad: str

    def first_difference(self) -> int:
        """Return the position of the first word that differs; a sentence's end is a word too."""
        good, bad = self.good.split(" "), self.bad.split(" ")
        differing = (at for at, (a, b) in enumerate(zip(good, bad, strict=False)) if a != b)
        return next(differing, min(len(good), len(bad)))


@dataclass(frozen=True)
class WrittenSuite:
    """A suite as it was read: the pairs that can be judged, and those that were left out."""

    source: str  # its path or its name
    read: tuple[Line, ...]  # all pairs, as they are written
    kept: tuple[int, ...]  # positions of the pairs that can be judged
    pairs: tuple[Pair, ...]  # these in words

    @property
    def lines(self) -> list[Line]:
        """Return the pairs that can be judged, as they are written."""
        return [self.read[row] for row in self.kept]


def text_of(words: Iterable[str]) -> str:
    """Join words; a space inside a word becomes a no-break space."""
    return " ".join(word.replace(" ", INSIDE) for word in words)


def words_of(text: str) -> list[str]:
    """Return the words that `text_of` joined."""
    return [word.replace(INSIDE, " ") for word in text.split(" ")]


CLAMS = "clams-fr"  # the suite of Mueller et al. (2020), in French
TABLE = "pairs.csv"  # next to texts: a row for each pair, in the order of reading
NAMED = 5  # most pairs left out that are named
NO_PAIRS = ("license", "licence", "readme", "copying", "notice")  # texts that a folder may hold


def suite_files(suite: str) -> list[Path]:
    """Return the files of a suite: a file, those of a folder, or those of a data folder's name."""
    endings = f"{', '.join(KINDS[:-1])} or {KINDS[-1]}"
    if Path(suite).is_file():
        if Path(suite).suffix not in KINDS:
            raise AccordError(f"{suite} is no suite: expected a name that ends in {endings}")
        return [Path(suite)]
    folder = _folder(suite)
    texts = (path for path in folder.glob("*") if path.suffix in KINDS and path.name != TABLE)
    files = sorted(path for path in texts if path.stem.lower() not in NO_PAIRS)
    if not files:
        raise NotFoundError(f"{folder} is no suite: expected files that end in {endings}")
    return files


def _folder(suite: str) -> Path:
    if Path(suite).is_dir():
        return Path(suite)
    try:
        if "/" not in suite and Path(suite).suffix not in KINDS:
            return folder_of(suite)
    except MissingData:
        if suite == CLAMS:  # which can be fetched
            raise
    raise NotFoundError(
        f"{suite}: there is no such file or folder, nor data of that name; expected the path of a "
        f"suite, or {CLAMS}"
    )


def suite_name(suite: str) -> str:
    """Return the name that figures of a suite have: that of its file or folder."""
    path = Path(suite).resolve()
    return path.stem if path.is_file() else path.name


def read_suite(suite: str, lowercase: bool = False, columns: Columns = USUAL) -> WrittenSuite:
    """Read all pairs of a suite, file by file, and report every faulty line.

    Pairs of equal sentences are left out, counted and named.
    """
    files = suite_files(suite)
    if columns != USUAL and all(path.suffix == ".txt" for path in files):
        raise AccordError(f"--good, --bad: expected a table; {suite} is of texts without columns")
    hashed = tuple((path, sha256(path.read_bytes()).digest()) for path in files)
    written = _read(suite, hashed, lowercase, columns)
    kept = {*written.kept}
    if out := [line for row, line in enumerate(written.read) if row not in kept]:
        named = "; ".join(f"{line.where}: {_alike(line)}" for line in out[:NAMED])
        more = f"; and {len(out) - NAMED:,} more" if len(out) > NAMED else ""
        say(f"pairs left out, as their sentences are the same: {len(out):,}; {named}{more}")
    return written


@lru_cache(maxsize=1)  # an audit reads it again and again, and so do models that differ elsewhere
def _read(
    suite: str, files: tuple[tuple[Path, bytes], ...], lowercase: bool, columns: Columns
) -> WrittenSuite:
    """Read the pairs of files; the hash of each file is a part of the cache's key."""
    lines = [line for path, _ in files for line in read_lines(path, columns)]
    texts = dict.fromkeys(text for line in lines for text in (line.good, line.bad) if text)
    words = dict(zip(texts, map(text_of, tokenised(texts)), strict=True))
    pairs, faults = [], []
    for line in lines:
        pair = Pair(line.construction, words.get(line.good, ""), words.get(line.bad, ""))
        if line.fault or not (pair.good and pair.bad):
            fault = line.fault or f"expected words, got {line.good!r} and {line.bad!r}"
            faults.append(f"{line.where}: {fault}")
        pairs.append(lowercased(pair) if lowercase else pair)
    if faults:
        raise AccordError("\n".join(faults))
    kept = [row for row, pair in enumerate(pairs) if pair.good != pair.bad]
    if not kept:
        but = f"; {lines[0].where}: {_alike(lines[0])}" if lines else ""
        raise AccordError(f"{suite} is no suite: expected pairs of sentences, found none{but}")
    return WrittenSuite(suite, (*lines,), (*kept,), (*(pairs[row] for row in kept),))


def _alike(line: Line) -> str:
    """Say how the sentences of a pair are the same."""
    if line.good == line.bad:
        return f"{line.good!r} twice"
    return f"{line.good!r} is to a model the same as {line.bad!r}, by case or spelling"


def lowercased(pair: Pair) -> Pair:
    return Pair(pair.construction, pair.good.lower(), pair.bad.lower())


def pair_table(suite: WrittenSuite) -> pd.DataFrame:
    """Return the construction of each pair and the columns of its table or of TABLE."""
    rows = [{**line.columns, "construction": line.construction} for line in suite.lines]
    path = suite_files(suite.source)[0].parent / TABLE
    if not path.exists() or Path(suite.source).is_file():
        return pd.DataFrame(rows)
    try:
        table = pd.read_csv(path)
    except ValueError as error:
        raise AccordError(f"{path}: expected a table of pairs in UTF-8; {error}") from None
    constructions = [line.construction for line in suite.read]
    if table.get("construction", pd.Series()).tolist() != constructions:
        raise AccordError(f"{path} does not fit its suite: expected a row for each of its pairs")
    return table.iloc[[*suite.kept]].reset_index(drop=True)


def suite_words(pairs: Sequence[Pair]) -> set[str]:
    return {word for pair in pairs for text in (pair.good, pair.bad) for word in words_of(text)}


def encode_suite(pairs: Sequence[Pair], vocabulary: Vocabulary) -> Suite:
    """Turn pairs into ids of a vocabulary.

    A pair cannot be judged if a word is unknown, or if this vocabulary reads both sentences alike.
    """

    def is_judged(pair: Pair) -> bool:
        words = words_of(f"{pair.good} {pair.bad}")
        return pair.good != pair.bad and (vocabulary.is_open or vocabulary.knows(words))

    known = [is_judged(pair) for pair in pairs]
    judged = compress(pairs, known)
    texts = list(dict.fromkeys(text for pair in judged for text in (pair.good, pair.bad)))
    words = [words_of(text) for text in texts]
    row = {text: number for number, text in enumerate(texts)}
    forms = list(dict.fromkeys(word for ws in words for word in ws))
    number = {form: position for position, form in enumerate(forms)}
    form = np.array([i for ws in words for i in (*(number[w] for w in ws), -1)], np.int32)
    names = sorted({pair.construction for pair in pairs})
    return Suite(
        ids=np.array([*vocabulary.ids(forms), END_ID], np.int32)[form],  # −1 is the last
        lengths=np.array([len(sentence) + 1 for sentence in words], np.int64),
        # A pair that cannot be judged points at any sentence.
        good=np.array([row.get(pair.good, 0) for pair in pairs], np.int64),
        bad=np.array([row.get(pair.bad, 0) for pair in pairs], np.int64),
        critical=np.array([pair.first_difference() for pair in pairs], np.int64),
        known=np.array(known, bool),
        construction=np.array([names.index(pair.construction) for pair in pairs], np.int64),
        constructions=np.array(names, str),
        forms=np.array(forms, str),
        form=form,
    )


def is_made_of(suite: Suite, pairs: Sequence[Pair]) -> bool:
    """Return whether an encoded suite is that of these pairs, which are in the case it was read in.

    Of a pair that could not be judged only the construction is kept.
    """
    sentences = np.split(suite.forms[suite.form], np.cumsum(suite.lengths)[:-1])
    texts = [text_of(words[:-1]) for words in sentences]
    names = suite.constructions[suite.construction]
    rows = zip(pairs, names, suite.good, suite.bad, suite.known, strict=True)
    return len(pairs) == len(names) and all(
        pair.construction == name and (not known or pair[1:] == (texts[good], texts[bad]))
        for pair, name, good, bad, known in rows
    )
