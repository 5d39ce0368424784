"""A lexicon that is a text file: read once into an index, which is memory-mapped from then on.

The index is one Arrow file with a row per form, found by the hash of the form. Columns: hash
(uint64, ascending), form, analyses (a list of lemma, upos, feats, count). Processes share its
pages. In the cache the file ends with its own hash, which is checked when it is opened.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from accord.lexicon.analysis import Analysis, Lexicon, Request, plain
from accord.lexicon.reading import LexiconError, LexiconRow, Report, Skipped


class DeferredModule:
    """A module that is imported when something of it is first asked for.

    The bundled model is asked without pyarrow. Annotations that name its types are not evaluated
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


def hashes(forms: np.ndarray) -> np.ndarray:
    return pd.util.hash_array(forms, categorize=False)


VERSION = 1  # raised when the same rows give a different index
SEAL = hashlib.sha256().digest_size  # bytes at the end of a cached file: the hash of the others
ABANDONED = 3600  # seconds after which a file that is being written was left by a killed process
MEANING = r"(?:^|\|)Sem=[^|]*"
PROBE = int(hashes(np.array(["accord"], dtype=object))[0])  # tells whether the hash is the same


class Index(Lexicon):
    """A compiled lexicon."""

    key: str | None = None  # names the content; an index that was never cached has none
    content: pa.Buffer | None = None  # the Arrow file

    def __init__(self, name: str, licence: str, table: pa.Table):
        self.name = name
        self.licence = licence
        about = json.loads((table.schema.metadata or {}).get(b"accord", "{}"))
        self.lowercase = about.get("lowercase", False)
        self.skipped = tuple(Skipped(*each) for each in about.get("skipped", ()))
        self._hash = table["hash"].chunk(0).to_numpy()
        self._forms = table["form"].chunk(0)
        self._analyses = table["analyses"].chunk(0)

    @classmethod
    def open(cls, name: str, licence: str, content: pa.Buffer, key: str | None = None) -> Index:
        """The index of an Arrow file, which is neither copied nor read here."""
        index = cls(name, licence, pa.ipc.open_file(pa.BufferReader(content)).read_all())
        index.content, index.key = content, key
        return index

    def __len__(self) -> int:
        return len(self._forms)

    def __iter__(self) -> Iterator[str]:
        return iter(self._forms.to_pylist())

    def positions(self, forms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which of the forms are known, and the row of each of those."""
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
        rows["weight"] = np.float32(1.0)
        rows["source"] = pa.repeat(self.name, len(rows)).to_pandas()
        return rows

    def entries(self, forms: np.ndarray) -> pd.DataFrame:
        """The entries of each form: word, lemma, upos, feats, count."""
        return self.at(*self.positions(forms))

    def at(self, word: np.ndarray, rows: np.ndarray) -> pd.DataFrame:
        """The entries at some rows of the index; `word` is the position of the form asked for."""
        lists = self._analyses.take(pa.array(rows))
        entries = pc.list_flatten(lists)
        texts = {name: pc.struct_field(entries, name) for name in ("lemma", "upos", "feats")}
        # Taken rather than cast: a cast would decode the dictionary of the whole lexicon. Large
        # strings, as the analyses of many forms may have more than 2 GiB together.
        texts = {
            name: text.dictionary.cast(pa.large_string()).take(text.indices)
            for name, text in texts.items()
        }
        found = pa.table(texts).to_pandas()
        found.insert(0, "word", word[pc.list_parent_indices(lists).to_numpy()])
        found["count"] = pc.struct_field(entries, "count").to_numpy()
        return found

    def exact(self, form: str) -> tuple[Analysis, ...]:
        form = form.lower() if self.lowercase else form
        row = int(np.searchsorted(self._hash, hashes(np.array([form], dtype=object))[0]))
        if row == len(self) or self._forms[row].as_py() != form:
            return ()
        entries = self._analyses[row].as_py()
        return tuple(Analysis(each["lemma"], each["upos"], each["feats"]) for each in entries)

    def frequency(self, forms: Sequence[str]) -> np.ndarray:
        """How often each form occurs in the lexicon's own corpus, over its analyses; 0 if never."""
        forms = np.asarray(forms, dtype=object)
        found = self.entries(forms)
        return np.bincount(found["word"], weights=found["count"], minlength=len(forms))


def cache_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "accord" / "lexicon"


def cached(name: str, make: Callable[[], pa.Table]) -> pa.Buffer:
    """The Arrow file of a name in the cache; it is made if it is missing or damaged.

    Where the cache cannot be written, the file is kept in memory.
    """
    path = cache_folder() / f"{name}.index"
    if path.is_file() and path.stat().st_size > SEAL:
        content = mapped(path)
        if _seal_holds(content):
            return content.slice(0, content.size - SEAL)
    content = _arrow_file(make())
    try:
        _keep(content, path)
    except OSError as error:
        log.warning("%s is not kept, so the next command makes it again: %s", path, error.strerror)
    return content


def mapped(path: Path) -> pa.Buffer:
    """The bytes of a file, which stay on disk until they are read."""
    with pa.memory_map(str(path)) as file:
        return file.read_buffer()


def _seal_holds(content: pa.Buffer) -> bool:
    """Whether a file ends with the hash of what precedes it."""
    view = memoryview(content)  # of signed bytes, which never equal those of a hash
    return hashlib.sha256(view[:-SEAL]).digest() == bytes(view[-SEAL:])


def compiled(
    path: Path,
    read: Callable[[Path, Report], Iterator[LexiconRow]],
    version: int,
    read_by: Sequence[Path],
    *,
    lowercase: bool,
    strict: bool,
) -> tuple[str, pa.Buffer]:
    """A text file's index and the key of its content.

    It is made if there is none yet for this text and this version of `read`.
    """

    def make() -> pa.Table:
        report = Report(path, strict)
        table = build(read(path, report), lowercase)
        if not len(table):
            reasons = "; ".join(f"{each.reason} ({each.example})" for each in report.skipped())
            raise LexiconError(f"{path}: no row could be read: {reasons or 'it has none'}")
        about = {"lowercase": lowercase, "skipped": report.skipped()}
        return table.replace_schema_metadata({"accord": json.dumps(about)})

    reader = f"{read.__module__}.{read.__qualname__} {version}"
    key = fingerprint([path, *read_by], reader, f"lowercase {lowercase}", f"strict {strict}")
    key = f"{path.stem}-{key}"
    return key, cached(key, make)


def fingerprint(files: Sequence[Path], *words: str) -> str:
    """Changes with the files, the words, the version of the index and the hash of a form."""
    parts = [f"{PROBE} {VERSION} {words}".encode()]
    for file in files:
        with file.open("rb") as opened:
            parts.append(hashlib.file_digest(opened, "sha256").digest())
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def build(rows: Iterator[LexiconRow] | pd.DataFrame, lowercase: bool = False) -> pa.Table:
    """Rows gathered by form; the same analysis twice is one, with the counts added."""
    data = pd.DataFrame(rows, columns=LexiconRow._fields)
    data["form"] = data["form"].map(plain)
    if lowercase:
        data["form"] = data["form"].map(str.lower)  # Arrow's own differs from it in İ and Σ
    data = _with_meaning(data)
    keys = ["form", "lemma", "upos", "feats"]
    data = data.groupby(keys, sort=False, observed=True)["count"].sum().reset_index()
    data["hash"] = hashes(data["form"].to_numpy(dtype=object))
    data = data.sort_values("hash", kind="stable")
    first = np.flatnonzero(~data["form"].eq(data["form"].shift()))
    entries = pa.StructArray.from_arrays(
        [
            *(pa.array(data[name], pa.string()).dictionary_encode() for name in keys[1:]),
            pa.array(data["count"], pa.float32()),
        ],
        names=[*keys[1:], "count"],
    )
    lists = pa.ListArray.from_arrays(pa.array([*first, len(data)], pa.int32()), entries)
    forms = pa.array(data["form"].iloc[first], pa.string())
    return pa.table({"hash": data["hash"].iloc[first].to_numpy(), "form": forms, "analyses": lists})


def _with_meaning(data: pd.DataFrame) -> pd.DataFrame:
    """Leave out an analysis if another one is the same with a meaning (Sem)."""
    means = data["feats"].str.contains("Sem=", regex=False)
    if not means.any():
        return data
    bare = data["feats"][means].str.replace(MEANING, "", regex=True).str.strip("|")
    said = data[means].assign(feats=bare)[["form", "lemma", "upos", "feats"]].drop_duplicates()
    again = data.merge(said, how="left", indicator=True)["_merge"].eq("both").to_numpy()
    return data[~again | means.to_numpy()]


def _arrow_file(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


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


@dataclass(frozen=True)
class TextLexicon:
    """How a lexicon's file becomes a lexicon; an instance is what the registry holds."""

    name: str
    licence: str
    source: str | None  # the name of its data's folder; none if `file` says it all
    file: str  # the file in that folder
    read: Callable[[Path, Report], Iterator[LexiconRow]]
    version: int  # of `read`: raised when it gives other rows for the same file
    of_text: bool = False  # whether the file is a text, or made of one
    read_by: tuple[Path, ...] = ()  # other files that what is read depends on, as a tagger's own

    def __call__(self, request: Request) -> Index:
        path = self.path(request.folder)
        return self.open(path, lowercase=request.lowercase, strict=request.strict)

    def path(self, folder: Callable[[str], Path]) -> Path:
        """The path of its file; `folder` returns the folder of a source's data."""
        return folder(self.source) / self.file if self.source else Path(self.file)

    def files(self, folder: Callable[[str], Path]) -> list[Path]:
        """All files that its answers depend on."""
        return [self.path(folder), *self.read_by]

    def open(self, path: Path, *, lowercase: bool = False, strict: bool = False) -> Index:
        if not path.is_file():
            raise LexiconError(f"lexicon {self.name}: no file {path}")
        key, content = compiled(
            path, self.read, self.version, self.read_by, lowercase=lowercase, strict=strict
        )
        lexicon = Index.open(self.name, self.licence, content, key)
        lexicon.of_text = self.of_text
        return lexicon
