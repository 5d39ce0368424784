"""The index of a lexicon: one Arrow file, a row per form, found by the hash of the form.

Columns: hash (uint64, ascending), form, analyses (a list of lemma, upos, feats, count). The file
is memory-mapped: opening costs nothing, and processes share the pages.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from lexicon.analysis import Lexicon
from lexicon.reading import LexiconError, Report, Row, Skipped

TEXT = pa.dictionary(pa.int32(), pa.string())


def hashes(forms: np.ndarray) -> np.ndarray:
    return pd.util.hash_array(forms, categorize=False)


class Index(Lexicon):
    """A compiled lexicon."""

    def __init__(self, name: str, licence: str, path: Path):
        self.name = name
        self.licence = licence
        self.path = path
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        about = json.loads(table.schema.metadata[b"accord"])
        self.lowercase = about["lowercase"]
        self.skipped = tuple(Skipped(r, n, tuple(e)) for r, n, e in about["skipped"])
        self._hash = table["hash"].chunk(0).to_numpy()
        self._forms = table["form"].chunk(0)
        self._analyses = table["analyses"].chunk(0)

    def __len__(self) -> int:
        return len(self._forms)

    def __iter__(self) -> Iterator[str]:
        return iter(self._forms.to_pylist())

    def _positions(self, forms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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

    def find(self, forms: np.ndarray) -> pd.DataFrame:
        word, rows = self._positions(forms)
        return self._rows(self._analyses.take(pa.array(rows)), word)

    def rows(self) -> pd.DataFrame:
        """Every analysis of every form, `word` being the form's place in iteration."""
        return self._rows(self._analyses, np.arange(len(self)))

    def _rows(self, lists: pa.ListArray, word: np.ndarray) -> pd.DataFrame:
        entries = pc.list_flatten(lists)
        of = pc.list_parent_indices(lists).to_numpy()
        columns = {name: pc.struct_field(entries, name) for name in ("lemma", "upos", "feats")}
        rows = pa.table({name: pc.cast(column, pa.string()) for name, column in columns.items()})
        rows = rows.to_pandas()
        rows.insert(0, "word", word[of])
        rows["weight"] = np.float32(1.0)
        rows["source"] = pd.array(pa.repeat(self.name, len(rows)).to_pandas())
        return rows

    def frequency(self, forms: Sequence[str]) -> np.ndarray:
        """How often each form occurs in the lexicon's own corpus, over its analyses; 0 if never."""
        forms = np.asarray(forms, dtype=object)
        word, rows = self._positions(forms)
        lists = self._analyses.take(pa.array(rows))
        counts = pc.struct_field(pc.list_flatten(lists), "count").to_numpy()
        of = word[pc.list_parent_indices(lists).to_numpy()]
        return np.bincount(of, weights=counts, minlength=len(forms))


def cache_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "accord" / "lexicon"


def compiled(
    path: Path,
    read: Callable[[Path, Report], Iterator[Row]],
    code: Path,
    *,
    lowercase: bool,
    strict: bool,
) -> Path:
    """The index of a text file, made if there is none yet for this text and this code."""
    target = cache_folder() / f"{path.stem}-{fingerprint(path, code, lowercase, strict)}.arrow"
    if not target.is_file():
        report = Report(path, strict)
        table = build(read(path, report), lowercase)
        if not len(table):
            raise LexiconError(f"{path}: no row could be read; first: {report.skipped()[:1]}")
        about = {"lowercase": lowercase, "skipped": report.skipped()}
        write(table.replace_schema_metadata({"accord": json.dumps(about)}), target)
    return target


def fingerprint(path: Path, code: Path, lowercase: bool, strict: bool) -> str:
    """Changes with the text, with the code that reads it, and with the hash of a form."""
    parts = [f"{lowercase} {strict} {hashes(np.array(['accord'], dtype=object))[0]}".encode()]
    for file in (path, code, *sorted(Path(__file__).parent.glob("*.py"))):
        with file.open("rb") as opened:
            parts.append(hashlib.file_digest(opened, "sha256").digest())
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def build(rows: Iterator[Row], lowercase: bool) -> pa.Table:
    """Rows gathered by form; the same analysis twice is one, with the counts added."""
    data = pd.DataFrame(rows, columns=Row._fields)
    if lowercase:
        data["form"] = data["form"].str.lower()
    keys = ["form", "lemma", "upos", "feats"]
    data = data.groupby(keys, sort=False, observed=True)["count"].sum().reset_index()
    forms, names = pd.factorize(data["form"])
    hashed = hashes(np.asarray(names, dtype=object))
    order = np.argsort(hashed)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    place = rank[forms]
    data = data.iloc[np.argsort(place, kind="stable")]
    sizes = np.bincount(place, minlength=len(names))
    entries = pa.StructArray.from_arrays(
        [
            *(pa.array(data[name], pa.string()).dictionary_encode() for name in keys[1:]),
            pa.array(data["count"], pa.float32()),
        ],
        names=[*keys[1:], "count"],
    )
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(offsets), entries)
    forms = pa.array(np.asarray(names, dtype=object)[order], pa.string())
    return pa.table({"hash": hashed[order], "form": forms, "analyses": lists})


def write(table: pa.Table, target: Path) -> None:
    """Written beside its place and moved there whole, so that no reader sees half a file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, suffix=".partial")
    with os.fdopen(handle, "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    Path(name).replace(target)
