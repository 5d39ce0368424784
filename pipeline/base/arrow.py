"""Arrow tables, arrays that are written by chunks, rows spooled to disk.

A random split needs all sentences before it can place the first. A table of SQLite holds them, so
that a corpus of any size needs the memory of a few.
"""

from __future__ import annotations

import errno
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.lib import format as npy

from accord.lexicon.index import pa

BATCH = 10_000  # rows held in memory while writing


def write_rows(path: Path, schema: pa.Schema, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows to an Arrow stream."""
    rows = iter(rows)
    chunks = iter(lambda: list(islice(rows, BATCH)), [])
    batches = (pa.RecordBatch.from_pylist(chunk, schema=schema) for chunk in chunks)
    write_batches(path, schema, batches)


def write_batches(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    """Write batches to an Arrow stream, which `datasets.Dataset.from_file` reads too."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def open_table(path: Path) -> pa.Table:
    """Return a table whose columns stay on disk until they are read."""
    return pa.ipc.open_stream(pa.memory_map(str(path))).read_all()


def batches(path: Path, chosen: range | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the batches of an Arrow file, all or those of these numbers, one at a time.

    A whole file is not memory-mapped: it would stay in memory to its end. In a mapped file, batches
    before the chosen ones are passed over without being read.
    """
    with pa.OSFile(str(path)) if chosen is None else pa.memory_map(str(path)) as file:
        reader = pa.ipc.open_stream(file)
        yield from reader if chosen is None else islice(reader, chosen.start, chosen.stop)


def count_batches(path: Path) -> int:
    """Return the number of batches; their content is not read."""
    with pa.memory_map(str(path)) as file:
        return sum(1 for _ in pa.ipc.open_stream(file))


Ranges = dict[str, tuple[int, int]]  # by table, the first batch and the stop


def batch_ranges(paths: Mapping[str, Path], count: int) -> list[Ranges]:
    """Cut the batches of several tables into at most `count` shards."""
    numbered = [(name, number) for name in paths for number in range(count_batches(paths[name]))]
    cuts = sorted({shard * len(numbered) // count for shard in range(count + 1)})
    shards: list[Ranges] = [{} for _ in cuts[1:]]
    for ranges, (first, stop) in zip(shards, pairwise(cuts), strict=True):
        for name, number in numbered[first:stop]:
            ranges[name] = ranges.get(name, (number, 0))[0], number + 1
    return shards


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of an Arrow file."""
    for batch in batches(path):
        yield from batch.to_pylist()


def word_counts(path: Path, chosen: range | None = None) -> Counter[str]:
    """Count the words of a file of sentences' words, or of some batches of it."""
    counts: Counter[str] = Counter()
    for batch in batches(path, chosen):
        words, numbers = batch["words"].flatten().value_counts().flatten()
        counts.update(dict(zip(words.to_pylist(), numbers.to_pylist(), strict=True)))
    return counts


WRITTEN = "written.parquet"


def save_written(folder: Path, counts: Counter[str]) -> None:
    """Save the commonest spelling of each lowercased form, of equal ones that without capitals."""
    best: dict[str, tuple[int, str]] = {}
    for word, count in counts.items():
        form = word.lower()
        best[form] = max((count, word), best.get(form, (0, "")))  # capitals sort before others
    rows = [(form, word) for form, (_, word) in sorted(best.items())]
    pd.DataFrame(rows, columns=["form", "written"]).to_parquet(folder / WRITTEN)


def read_written(folder: Path) -> pd.Series | None:
    """Return the spelling of each form; None if words are not lowercased."""
    path = folder / WRITTEN
    return pd.read_parquet(path).set_index("form")["written"] if path.exists() else None


def splits(folder: Path) -> dict[str, Path]:
    """Return the Arrow file of each split in a stage's folder, training first."""
    paths = sorted(folder.glob("*.arrow"), key=lambda path: (path.stem != "train", path.stem))
    return {path.stem: path for path in paths}


def describe_splits(folder: Path) -> None:
    """Write what `datasets.load_from_disk` reads, so that a folder of splits is a DatasetDict."""
    names = [*splits(folder)]
    (folder / "dataset_dict.json").write_text(json.dumps({"splits": names}))
    unset = ("_fingerprint", "_format_columns", "_format_type")
    for name in names:
        (folder / name).mkdir()
        state = {"_data_files": [{"filename": f"../{name}.arrow"}], "_split": name}
        state |= dict.fromkeys(unset) | {"_format_kwargs": {}, "_output_all_columns": False}
        (folder / name / "state.json").write_text(json.dumps(state))
        (folder / name / "dataset_info.json").write_text(json.dumps({"description": ""}))


class ArrayFile:
    """Writes chunks to one file as `np.save` would write them together."""

    def __init__(self, path: Path, dtype: type):
        self.dtype, self.length, self._file = np.dtype(dtype), 0, path.open("wb")
        self._write_header()

    def __enter__(self) -> ArrayFile:
        return self

    def __exit__(self, *_: Any) -> None:
        self._file.seek(0)
        self._write_header()  # of the same size: numpy leaves room for the length to grow
        self._file.close()

    def append(self, chunk: np.ndarray) -> None:
        self._file.write(np.ascontiguousarray(chunk, self.dtype).data)
        self.length += len(chunk)

    def _write_header(self) -> None:
        about = {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False}
        npy.write_array_header_1_0(self._file, {**about, "shape": (self.length,)})


PAGES = -16_384  # kibibytes of the table that SQLite keeps in memory, by its sign


class Spool:
    """Rows numbered from 0 in the order they were added."""

    def __init__(self, path: Path):
        self._path = path
        self.repeated = 0  # rows left out, as their key was there
        self._table = sqlite3.connect(path, isolation_level=None)
        for setting in (f"cache_size = {PAGES}", "journal_mode = OFF", "synchronous = OFF"):
            self._execute(f"PRAGMA {setting}")
        self._execute("BEGIN")  # one transaction, or every row would be written on its own
        self._execute("CREATE TABLE row (number INTEGER PRIMARY KEY, key BLOB UNIQUE, json)")
        self._execute("CREATE TABLE name (number INTEGER PRIMARY KEY, name TEXT UNIQUE)")

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: Any) -> None:
        self._table.close()
        self._path.unlink()

    def add(self, row: str, key: bytes | None = None, repeat: bool = False) -> int | None:
        """Keep a row in JSON and return its number, unless one with its key is there.

        With `repeat` it is kept in any case.
        """
        insert = "INSERT OR IGNORE INTO row (key, json) VALUES (?, ?)"
        added = self._execute(insert, (key, row))
        if repeat and not added.rowcount:
            added = self._execute(insert, (None, row))
        if not added.rowcount:
            self.repeated += 1
            return None
        return added.lastrowid - 1

    def number_of(self, name: str) -> int:
        """Return the number of a name, from 0 in the order of first occurrence."""
        self._execute("INSERT OR IGNORE INTO name (name) VALUES (?)", (name,))
        return self._execute("SELECT number FROM name WHERE name = ?", (name,)).fetchone()[0] - 1

    def _execute(self, statement: str, values: tuple = ()) -> sqlite3.Cursor:
        try:
            return self._table.execute(statement, values)
        except sqlite3.Error as error:  # the disk is full, or the file cannot be written
            raise OSError(errno.EIO, str(error), str(self._path)) from None

    def __len__(self) -> int:
        return self._execute("SELECT ifnull(max(number), 0) FROM row").fetchone()[0]

    def rows(self, numbers: Iterable[int]) -> Iterator[Any]:
        """Yield the rows of these numbers, in this order."""
        for number in numbers:
            row = self._execute("SELECT json FROM row WHERE number = ?", (number + 1,))
            yield json.loads(row.fetchone()[0])
