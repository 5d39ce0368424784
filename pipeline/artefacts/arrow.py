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
    chunks = iter(lambda: list(islice(rows, BATCH)), [])
    write_batches(
        path, schema, (pa.RecordBatch.from_pylist(chunk, schema=schema) for chunk in chunks)
    )


def write_batches(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    """Write batches to an Arrow file."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def open_table(path: Path) -> pa.Table:
    """A table whose columns stay on disk until they are read."""
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


def batches(path: Path, chosen: Iterable[int] | None = None) -> Iterator[pa.RecordBatch]:
    """The batches of an Arrow file, all or those of these numbers, one in memory at a time.

    Not memory-mapped: a mapped file that is read through stays in memory to its end.
    """
    with pa.OSFile(str(path)) as file:
        reader = pa.ipc.open_file(file)
        for index in range(reader.num_record_batches) if chosen is None else chosen:
            yield reader.get_batch(index)


def count_batches(path: Path) -> int:
    with pa.OSFile(str(path)) as file:
        return pa.ipc.open_file(file).num_record_batches


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
