"""Tables on disk: Arrow files written and read back a batch at a time."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

BATCH = 10_000  # rows held in memory while writing


def write_rows(path: Path, schema: pa.Schema, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows to an Arrow file."""
    rows = iter(rows)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        while batch := list(islice(rows, BATCH)):
            writer.write_batch(pa.RecordBatch.from_pylist(batch, schema=schema))


def open_table(path: Path) -> pa.Table:
    """A table whose columns stay on disk until they are read."""
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def batches(path: Path) -> Iterator[pa.RecordBatch]:
    """The batches of an Arrow file, one in memory at a time.

    Not memory-mapped: a mapped file that is read through stays in memory to its end.
    """
    with pa.OSFile(str(path)) as file:
        reader = pa.ipc.open_file(file)
        for index in range(reader.num_record_batches):
            yield reader.get_batch(index)


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of an Arrow file."""
    for batch in batches(path):
        yield from batch.to_pylist()


def word_counts(path: Path) -> Counter[str]:
    """How often each word occurs in a file of sentences' words."""
    counts: Counter[str] = Counter()
    for batch in batches(path):
        words, numbers = batch["words"].flatten().value_counts().flatten()
        counts.update(dict(zip(words.to_pylist(), numbers.to_pylist(), strict=True)))
    return counts


def splits(folder: Path) -> dict[str, Path]:
    """The Arrow file of each split in a stage's folder, training first."""
    paths = sorted(folder.glob("*.arrow"), key=lambda path: (path.stem != "train", path.stem))
    return {path.stem: path for path in paths}
