"""Tables on disk: Arrow files written in batches as they come, and read back memory-mapped."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

BATCH = 10_000  # rows held in memory while writing


def write_rows(path: Path, schema: pa.Schema, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write rows to an Arrow file; the number of rows comes back."""
    written = 0
    rows = iter(rows)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        while batch := list(islice(rows, BATCH)):
            writer.write_batch(pa.RecordBatch.from_pylist(batch, schema=schema))
            written += len(batch)
    return written


def open_table(path: Path) -> pa.Table:
    """A table whose columns stay on disk until they are read."""
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of an Arrow file, a batch in memory at a time."""
    reader = pa.ipc.open_file(pa.memory_map(str(path)))
    for index in range(reader.num_record_batches):
        yield from reader.get_batch(index).to_pylist()


def splits(folder: Path) -> dict[str, Path]:
    """The Arrow file of each split in a stage's folder, training first."""
    paths = sorted(folder.glob("*.arrow"), key=lambda path: (path.stem != "train", path.stem))
    return {path.stem: path for path in paths}
