"""Suites read from files and turned into ids.

    .txt            `True`, a tab and a right sentence; then `False`, a tab and a wrong one (CLAMS)
    .csv, .tsv      columns `good` and `bad`
    .jsonl          an object a line, with `sentence_good` and `sentence_bad` (BLiMP)

Tables may use each other's names, or others that the reader is told (`Columns`). A column of GROUPS
says which construction a pair is of; the pairs of a text are all of the construction that its file
is called after.

Sentences are tokenised as `accord score` tokenises them. A pair whose sentences are then the same
says nothing of a model: it is left out and named.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
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
from accord.pipeline.data.vocabulary import Vocabulary

KINDS = (".txt", ".csv", ".tsv", ".jsonl")
GROUPS = ("construction", "UID", "phenomenon", "linguistics_term")  # the first that is there


class Columns(NamedTuple):
    """The names of the columns with the right and the wrong sentence."""

    good: tuple[str, ...] = ("good", "sentence_good")
    bad: tuple[str, ...] = ("bad", "sentence_bad")

    @classmethod
    def named(cls, good: str | None, bad: str | None) -> "Columns":
        """The columns that the user names, else the usual names."""
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
    """Every pair of a file; a line that cannot be read is a fault, and the next one is read."""
    if path.suffix == ".txt":
        return _of_text(path)
    rows = _objects(path) if path.suffix == ".jsonl" else table_rows(path, ";,")
    return _of_rows(path, [*rows], columns)


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


def _of_rows(
    path: Path, rows: Sequence[tuple[int, dict[str, Any] | str]], columns: Columns
) -> Iterator[Line]:
    found = dict.fromkeys(name for _, row in rows if isinstance(row, dict) for name in row)
    if found and any(found.keys().isdisjoint(names) for names in columns):
        fault = (
            f"expected the columns {columns}; found {', '.join(found)}. "
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
        sentences = {*columns.good, *columns.bad}
        others = {name: value for name, value in row.items() if name not in sentences}
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


INSIDE = "\u00a0"  # a space within a word, such as that of 50 000


class Pair(NamedTuple):
    """Two sentences, each as its words with spaces between them."""

    construction: str
    good: str
    bad: str

    def first_difference(self) -> int:
        """The position of the first word that differs; the end of a sentence counts too."""
        good, bad = self.good.split(" "), self.bad.split(" ")
        differing = (place for place, (a, b) in enumerate(zip(good, bad, strict=False)) if a != b)
        return next(differing, min(len(good), len(bad)))


@dataclass(frozen=True)
class WrittenSuite:
    """A suite as it was read: the pairs that can be judged, and those that were left out."""

    source: str  # its path or its name
    read: tuple[Line, ...]  # all pairs, as they are written
    kept: tuple[int, ...]  # which of them can be judged
    pairs: tuple[Pair, ...]  # these in words

    @property
    def lines(self) -> list[Line]:
        """The pairs that can be judged, as they are written."""
        return [self.read[place] for place in self.kept]

    @property
    def left_out(self) -> list[Line]:
        """The pairs whose sentences are the same to a model."""
        kept = {*self.kept}
        return [line for place, line in enumerate(self.read) if place not in kept]


def text_of(words: Iterable[str]) -> str:
    return " ".join(word.replace(" ", INSIDE) for word in words)


def words_of(text: str) -> list[str]:
    return [word.replace(INSIDE, " ") for word in text.split(" ")]


CLAMS = "clams-fr"  # the suite of Mueller et al. (2020), in French
TABLE = "pairs.csv"  # beside texts: a row for each pair in the order in which they are read
NAMED = 5  # of the pairs that are left out
NO_PAIRS = ("license", "licence", "readme", "copying", "notice")  # texts that a folder may hold


def suite_files(suite: str) -> list[Path]:
    """The files of a suite, by the path of one or of their folder, or by its name."""
    if Path(suite).is_file():
        if Path(suite).suffix not in KINDS:
            raise AccordError(f"{suite} is no suite: expected a name that ends in {_list(KINDS)}")
        return [Path(suite)]
    folder = _folder(suite)
    found = sorted(path for path in folder.glob("*") if path.suffix in KINDS and _is_part(path))
    if not found:
        raise NotFoundError(f"{folder} is no suite: expected files that end in {_list(KINDS)}")
    return found


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


def _is_part(path: Path) -> bool:
    return path.name != TABLE and path.stem.lower() not in NO_PAIRS


def _list(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def suite_name(suite: str) -> str:
    path = Path(suite).resolve()
    return path.stem if path.is_file() else path.name


def read_suite(suite: str, lowercase: bool = False, columns: Columns = USUAL) -> WrittenSuite:
    """All pairs of a suite, file by file; every line that is none is reported.

    Pairs of two equal sentences are left out, counted and named.
    """
    files = suite_files(suite)
    if columns != USUAL and all(path.suffix == ".txt" for path in files):
        raise AccordError(f"--good, --bad: expected a table; {suite} is of texts without columns")
    hashed = tuple((path, sha256(path.read_bytes()).digest()) for path in files)
    found = _read(suite, hashed, lowercase, columns)
    if out := found.left_out:
        named = "; ".join(f"{line.where}: {_alike(line)}" for line in out[:NAMED])
        more = f"; and {len(out) - NAMED:,} more" if len(out) > NAMED else ""
        say(f"pairs left out, as their sentences are the same: {len(out):,}; {named}{more}")
    return found


@lru_cache(maxsize=1)  # an audit reads it again and again, and so do models that differ elsewhere
def _read(
    suite: str, files: tuple[tuple[Path, bytes], ...], lowercase: bool, columns: Columns
) -> WrittenSuite:
    """The pairs of these files, each of which comes with the hash of what it holds."""
    found = [line for path, _ in files for line in read_lines(path, columns)]
    texts = dict.fromkeys(text for line in found for text in (line.good, line.bad) if text)
    words = dict(zip(texts, map(text_of, tokenised(texts)), strict=True))
    pairs, faults = [], []
    for line in found:
        pair = Pair(line.construction, words.get(line.good, ""), words.get(line.bad, ""))
        if lowercase:
            pair = lowercased(pair)
        fault = line.fault
        if not fault and not (pair.good and pair.bad):
            fault = f"expected words, got {line.good!r} and {line.bad!r}"
        if fault:
            faults.append(f"{line.where}: {fault}")
        pairs.append(pair)
    if faults:
        raise AccordError("\n".join(faults))
    kept = [place for place, pair in enumerate(pairs) if pair.good != pair.bad]
    if not kept:
        but = f"; {found[0].where}: {_alike(found[0])}" if found else ""
        raise AccordError(f"{suite} is no suite: expected pairs of sentences, found none{but}")
    return WrittenSuite(suite, (*found,), (*kept,), (*(pairs[place] for place in kept),))


def _alike(line: Line) -> str:
    """How two sentences are the same."""
    if line.good == line.bad:
        return f"{line.good!r} twice"
    return f"{line.good!r} is to a model the same as {line.bad!r}, by case or spelling"


def lowercased(pair: Pair) -> Pair:
    return Pair(pair.construction, pair.good.lower(), pair.bad.lower())


def pair_table(suite: WrittenSuite) -> pd.DataFrame:
    """The columns of each pair: its construction, and those of its table or of TABLE."""
    rows = [{**line.columns, "construction": line.construction} for line in suite.lines]
    path = suite_files(suite.source)[0].parent / TABLE
    if not path.exists() or Path(suite.source).is_file():
        return pd.DataFrame(rows)
    try:
        beside = pd.read_csv(path)
    except ValueError as error:
        raise AccordError(f"{path}: expected a table of pairs in UTF-8; {error}") from None
    constructions = [line.construction for line in suite.read]
    if beside.get("construction", pd.Series()).tolist() != constructions:
        raise AccordError(f"{path} does not fit its suite: expected a row for each of its pairs")
    return beside.iloc[[*suite.kept]].reset_index(drop=True)


def suite_words(pairs: Sequence[Pair]) -> set[str]:
    return {word for pair in pairs for text in (pair.good, pair.bad) for word in words_of(text)}


def encode_suite(pairs: Sequence[Pair], vocabulary: Vocabulary) -> Suite:
    """The pairs in the ids of a vocabulary.

    A pair cannot be judged if a word is unknown, or if this vocabulary reads both sentences alike.
    """
    known = [
        pair.good != pair.bad
        and (vocabulary.is_open or vocabulary.knows(words_of(f"{pair.good} {pair.bad}")))
        for pair in pairs
    ]
    judged = [pair for pair, is_known in zip(pairs, known, strict=True) if is_known]
    texts = list(dict.fromkeys(text for pair in judged for text in (pair.good, pair.bad)))
    words = [words_of(text) for text in texts]
    place = {text: number for number, text in enumerate(texts)}
    forms = list(dict.fromkeys(word for ws in words for word in ws))
    number = {form: place for place, form in enumerate(forms)}
    form = np.array([i for ws in words for i in (*(number[w] for w in ws), -1)], np.int32)
    names = sorted({pair.construction for pair in pairs})
    return Suite(
        ids=np.array([*vocabulary.ids(forms), END_ID], np.int32)[form],  # −1 is the last
        lengths=np.array([len(sentence) + 1 for sentence in words], np.int64),
        # A pair that cannot be judged points at any sentence.
        good=np.array([place.get(pair.good, 0) for pair in pairs], np.int64),
        bad=np.array([place.get(pair.bad, 0) for pair in pairs], np.int64),
        critical=np.array([pair.first_difference() for pair in pairs], np.int64),
        known=np.array(known, bool),
        construction=np.array([names.index(pair.construction) for pair in pairs], np.int64),
        constructions=np.array(names, str),
        forms=np.array(forms, str),
        form=form,
    )


def is_made_of(suite: Suite, pairs: Sequence[Pair]) -> bool:
    """Whether a suite in ids is that of these pairs, whatever case they were read in.

    Of a pair that could not be judged only the construction is kept.
    """
    words = np.split(suite.forms[suite.form], np.cumsum(suite.lengths)[:-1])
    texts = [text_of(sentence[:-1]).lower() for sentence in words]
    names = suite.constructions[suite.construction]
    kept = zip(names, suite.good, suite.bad, suite.known, strict=True)
    return len(pairs) == len(names) and all(
        pair.construction == name
        and (not known or [pair.good.lower(), pair.bad.lower()] == [texts[good], texts[bad]])
        for pair, (name, good, bad, known) in zip(pairs, kept, strict=True)
    )
