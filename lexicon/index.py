"""A lexicon that is a text file: read row by row, and kept as an index that is memory-mapped.

The index is one Arrow file with a row per form, found by the hash of the form. Columns: hash
(uint64, ascending), form, analyses (a list of lemma, upos, feats, count). Processes share its
pages. In the cache the file ends with its own hash, which is checked when it is opened.

A reader yields a `LexiconRow` for each analysis. Rows that it cannot read are counted and named.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from accord.lexicon.analysis import Analysis, Lexicon, LexiconError, Request, plain


class DeferredModule:
    """A module that is imported at its first use.

    The bundled model is queried without pyarrow. Annotations that name its types are not evaluated
    (`from __future__ import annotations`).
    """

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


pa = DeferredModule("pyarrow")
pc = DeferredModule("pyarrow.compute")
parquet = DeferredModule("pyarrow.parquet")
log = logging.getLogger(__name__)

AUXILIARIES = {"avoir", "être"}  # AUX or VERB by their use in Universal Dependencies


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
    """The number of rows left out for one reason, and the first of them: `file:line: text`."""

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
        self.path, self.strict, self.line = path, strict, 0  # the line that is being parsed
        self._skipped: dict[str, Skipped] = {}  # by reason

    def bad(self, line: int, reason: str, text: str) -> None:
        """Count a row that breaks the format."""
        if self.strict:
            raise LexiconError(f"{self.path}:{line}: {reason}: {text!r}")
        self.left_out(line, reason, text)

    def left_out(self, line: int, reason: str, text: str) -> None:
        """Count a sound row that is no word of a text."""
        first = Skipped(reason, 0, f"{self.path.name}:{line}: {text}")
        skipped = self._skipped.get(reason, first)
        self._skipped[reason] = skipped._replace(count=skipped.count + 1)

    def skipped(self) -> tuple[Skipped, ...]:
        return tuple(self._skipped.values())


Reader = Callable[[Path, Report], Iterator[LexiconRow]]


# Characters that no word has: control characters (tabs separate columns) and line ends.
NOT_TEXT = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")


def lines(
    path: Path, report: Report, encoding: str = "utf-8", cut_short: bool = False
) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a file, without their ends. A line that is not text is reported.

    With `cut_short`, so is a last line without an end: published files end with a line end.
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
    """Say why a line is not text although it could be decoded."""
    if control := NOT_TEXT.search(line):
        return f"the character {control.group()!r} is in no word"
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
    """Yield the rows that `parse` returns for each line; lines that it rejects are reported."""
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


def line_by_line(parse: Callable[[str], list[LexiconRow]]) -> Reader:
    """Return a reader of a published file that `parse` reads line by line."""

    @wraps(parse)  # the cache knows a reader by its name
    def read(path: Path, report: Report) -> Iterator[LexiconRow]:
        return rows(lines(path, report, cut_short=True), report, parse)

    return read


def columns(line: str, count: int) -> list[str]:
    """Split a line at its tabs."""
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
    """Return the rows of a word; avoir and être also as AUX, which some lexicons lack."""
    verbs = (row for row in rows if row.upos == "VERB" and row.lemma in AUXILIARIES)
    return [*rows, *(row._replace(upos="AUX") for row in verbs)]


def header(
    path: Path,
    numbered: Iterator[tuple[int, str]],
    required: Sequence[str],
    split: Callable[[str], list[str]] = lambda line: line.split("\t"),
) -> list[str]:
    """Return the names of the columns; reject a header that lacks one or names one twice."""
    number, line = next(numbered, (0, ""))
    if number != 1:
        raise LexiconError(f"{path}:1: the header cannot be read")
    names = [name.strip().lower() for name in split(line)]
    lacking = [name for name in required if name not in names]
    twice = sorted({name for name in names if names.count(name) > 1})
    if lacking or twice:
        fault = f"no column {', '.join(lacking)}" if lacking else f"twice {', '.join(twice)}"
        raise LexiconError(
            f"{path}:1: {fault}; the header must name {', '.join(required)}, "
            f"it names {', '.join(names)}"
        )
    return names


def amount(text: str) -> float:
    """Parse a count or a frequency."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf or "_" in text:
        raise BadRow(f"expected a number from 0, got {text!r}")
    return value


def hashes(forms: np.ndarray) -> np.ndarray:
    return pd.util.hash_array(forms, categorize=False)


VERSION = 1  # raised when the same rows give a different index
SEAL = hashlib.sha256().digest_size  # bytes at the end of a cached file: the hash of the others
ABANDONED = 3600  # seconds after which a file that is being written was left by a killed process
MEANING = r"(?:^|\|)Sem=[^|]*"
PROBE = int(hashes(np.array(["accord"], dtype=object))[0])  # tells whether the hash is the same
TEXTS = ("lemma", "upos", "feats")


class Index(Lexicon):
    """A compiled lexicon."""

    key: str | None = None  # names the content; an index that was never cached has none
    content: pa.Buffer | None = None  # the Arrow file

    def __init__(self, name: str, licence: str, table: pa.Table):
        self.name = name
        self.licence = licence
        about = json.loads((table.schema.metadata or {}).get(b"accord", "{}"))
        self.lowercase = about.get("lowercase", False)
        self.skipped = tuple(Skipped(*values) for values in about.get("skipped", ()))
        self._hash = table["hash"].chunk(0).to_numpy()
        self._forms = table["form"].chunk(0)
        self._analyses = table["analyses"].chunk(0)

    @classmethod
    def open(cls, name: str, licence: str, content: pa.Buffer, key: str | None = None) -> Index:
        """Return the index of an Arrow file, which is neither copied nor read here."""
        index = cls(name, licence, pa.ipc.open_file(pa.BufferReader(content)).read_all())
        index.content, index.key = content, key
        return index

    def __len__(self) -> int:
        return len(self._forms)

    def __iter__(self) -> Iterator[str]:
        return iter(self._forms.to_pylist())

    def positions(self, forms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which of the forms are known, and the row of each of those."""
        if self.lowercase:
            forms = np.array([form.lower() for form in forms], dtype=object)
        wanted = hashes(forms)
        rows = np.minimum(np.searchsorted(self._hash, wanted), len(self) - 1)
        word = np.flatnonzero(self._hash[rows] == wanted)
        rows = rows[word]
        same = pc.equal(self._forms.take(pa.array(rows)), pa.array(forms[word], pa.string()))
        same = same.to_numpy(zero_copy_only=False)
        return word[same], rows[same]

    def identity(self) -> str:
        return self.key or super().identity()

    def find(self, forms: np.ndarray) -> pd.DataFrame:
        rows = self.entries(forms).drop(columns="count")
        source = pa.repeat(self.name, len(rows)).to_pandas()
        return rows.assign(weight=np.float32(1.0), source=source)

    def entries(self, forms: np.ndarray) -> pd.DataFrame:
        """Return the entries of each form: word, lemma, upos, feats, count."""
        return self.take(*self.positions(forms))

    def take(self, word: np.ndarray, rows: np.ndarray) -> pd.DataFrame:
        """Return the entries in some rows of the index, each row asked for by a word."""
        lists = self._analyses.take(pa.array(rows))
        entries = pc.list_flatten(lists)
        texts = {}
        for name in TEXTS:
            # Taken rather than cast: a cast would decode the dictionary of the whole lexicon. Large
            # strings, as the analyses of many forms may have more than 2 GiB together.
            text = pc.struct_field(entries, name)
            texts[name] = text.dictionary.cast(pa.large_string()).take(text.indices)
        table = pa.table(texts).to_pandas()
        table.insert(0, "word", word[pc.list_parent_indices(lists).to_numpy()])
        table["count"] = pc.struct_field(entries, "count").to_numpy()
        return table

    def exact(self, form: str) -> tuple[Analysis, ...]:
        form = form.lower() if self.lowercase else form
        row = int(np.searchsorted(self._hash, hashes(np.array([form], dtype=object))[0]))
        if row == len(self) or self._forms[row].as_py() != form:
            return ()
        entries = self._analyses[row].as_py()
        return tuple(Analysis(*(entry[name] for name in TEXTS)) for entry in entries)

    def frequency(self, forms: Sequence[str]) -> np.ndarray:
        """Return how often each form occurs in the lexicon's own corpus, over its analyses."""
        forms = np.asarray(forms, dtype=object)
        entries = self.entries(forms)
        return np.bincount(entries["word"], weights=entries["count"], minlength=len(forms))


def cache_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "accord" / "lexicon"


def cached(name: str, make: Callable[[], pa.Table]) -> pa.Buffer:
    """Return the Arrow file of a name in the cache; it is made if it is missing or damaged.

    Where the cache cannot be written, the file is kept in memory.
    """
    path = cache_folder() / f"{name}.index"
    if path.is_file() and path.stat().st_size > SEAL:
        content = mapped(path)
        view = memoryview(content)  # of signed bytes, which never equal those of a hash
        if hashlib.sha256(view[:-SEAL]).digest() == bytes(view[-SEAL:]):
            return content.slice(0, content.size - SEAL)
    table, sink = make(), pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    content = sink.getvalue()
    try:
        _keep(content, path)
    except OSError as error:
        log.warning("%s is not kept, so the next command makes it again: %s", path, error.strerror)
    return content


def _keep(content: pa.Buffer, target: Path) -> None:
    """Write a file and its hash under another name, then move them to their place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    for left in target.parent.glob("*.partial"):  # by killed processes; a living one is faster
        if time.time() - left.stat().st_mtime > ABANDONED:
            left.unlink(missing_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, suffix=".partial")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.write(hashlib.sha256(content).digest())
        Path(name).replace(target)
    finally:
        Path(name).unlink(missing_ok=True)


def mapped(path: Path) -> pa.Buffer:
    """Return the bytes of a file, which stay on disk until they are read."""
    with pa.memory_map(str(path)) as file:
        return file.read_buffer()


def fingerprint(files: Sequence[Path], *words: str) -> str:
    """Return a hash of the files, the words, the version of the index and the hash of a form."""
    parts = [f"{PROBE} {VERSION} {words}".encode()]
    for path in files:
        with path.open("rb") as file:
            parts.append(hashlib.file_digest(file, "sha256").digest())
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def build(rows: Iterator[LexiconRow] | pd.DataFrame, lowercase: bool = False) -> pa.Table:
    """Gather rows by form; the same analysis twice is one, with the counts added."""
    data = pd.DataFrame(rows, columns=LexiconRow._fields)
    data["form"] = data["form"].map(plain)
    if lowercase:
        data["form"] = data["form"].map(str.lower)  # Arrow's own differs from it in İ and Σ
    data = _with_meaning(data)
    keys = ["form", *TEXTS]
    data = data.groupby(keys, sort=False, observed=True)["count"].sum().reset_index()
    data["hash"] = hashes(data["form"].to_numpy(dtype=object))
    data = data.sort_values("hash", kind="stable")
    first = np.flatnonzero(~data["form"].eq(data["form"].shift()))
    texts = [pa.array(data[name], pa.string()).dictionary_encode() for name in TEXTS]
    count = pa.array(data["count"], pa.float32())
    entries = pa.StructArray.from_arrays([*texts, count], names=[*TEXTS, "count"])
    lists = pa.ListArray.from_arrays(pa.array([*first, len(data)], pa.int32()), entries)
    forms = pa.array(data["form"].iloc[first], pa.string())
    return pa.table({"hash": data["hash"].iloc[first].to_numpy(), "form": forms, "analyses": lists})


def _with_meaning(data: pd.DataFrame) -> pd.DataFrame:
    """Leave out an analysis if another one is the same with a meaning (Sem)."""
    has_meaning = data["feats"].str.contains("Sem=", regex=False)
    if not has_meaning.any():
        return data
    bare = data["feats"][has_meaning].str.replace(MEANING, "", regex=True).str.strip("|")
    bare = data[has_meaning].assign(feats=bare)[["form", *TEXTS]].drop_duplicates()
    is_bare = data.merge(bare, how="left", indicator=True)["_merge"].eq("both").to_numpy()
    return data[~is_bare | has_meaning.to_numpy()]


@dataclass(frozen=True)
class TextLexicon:
    """How a lexicon's file becomes a lexicon; an instance is what the registry holds."""

    name: str
    licence: str
    source: str | None  # the name of its data's folder; none if `file` says it all
    file: str  # the file in that folder
    read: Reader
    version: int  # of `read`: raised when it gives other rows for the same file
    of_text: bool = False  # whether the file is a text, or made of one
    read_by: tuple[Path, ...] = ()  # other files that what is read depends on, as a tagger's own

    def __call__(self, request: Request) -> Index:
        path = self.path(request.folder)
        return self.open(path, lowercase=request.lowercase, strict=request.strict)

    def path(self, folder: Callable[[str], Path]) -> Path:
        """Return the path of its file; `folder` returns the folder of a source's data."""
        return folder(self.source) / self.file if self.source else Path(self.file)

    def files(self, folder: Callable[[str], Path]) -> list[Path]:
        """Return all files that its answers depend on."""
        return [self.path(folder), *self.read_by]

    def open(self, path: Path, *, lowercase: bool = False, strict: bool = False) -> Index:
        """Return the index of a file, made if there is none yet of this text by this reader."""
        if not path.is_file():
            raise LexiconError(f"lexicon {self.name}: no file {path}")

        def make() -> pa.Table:
            report = Report(path, strict)
            table = build(self.read(path, report), lowercase)
            if not len(table):
                reasons = "; ".join(f"{row.reason} ({row.example})" for row in report.skipped())
                raise LexiconError(f"{path}: no row could be read: {reasons or 'it has none'}")
            about = {"lowercase": lowercase, "skipped": report.skipped()}
            return table.replace_schema_metadata({"accord": json.dumps(about)})

        reader = f"{self.read.__module__}.{self.read.__qualname__} {self.version}"
        settings = (f"lowercase {lowercase}", f"strict {strict}")
        key = f"{path.stem}-{fingerprint([path, *self.read_by], reader, *settings)}"
        lexicon = Index.open(self.name, self.licence, cached(key, make), key)
        lexicon.of_text = self.of_text
        return lexicon
