"""Stage `tokenise`: sentences become words, by the tokeniser or by the treebank's rows."""

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import chain
from multiprocessing import get_context
from multiprocessing.pool import Pool
from pathlib import Path
from types import ModuleType

import pyarrow as pa

from accord.corpora.text import words as words_of
from accord.corpora.tokenise import normalise, tokenised
from accord.models.common.files import load_json
from accord.pipeline.base.arrow import (
    Ranges,
    batch_ranges,
    batches,
    count_batches,
    describe_splits,
    open_table,
    save_written,
    splits,
    write_batches,
)
from accord.pipeline.base.artefact import Inputs
from accord.pipeline.base.messages import meter, say
from accord.pipeline.config.sections import TokeniseParams
from accord.pipeline.data.encoded import LABELS

SCHEMA = pa.schema({"words": pa.list_(pa.string())})
# Further columns of a sentence: its document, its source if there are several, its labels.
KEPT = ("document", "part", LABELS)
LONG = 8  # batches of a text that several processes tokenise sooner than one
COUNTS = "written.json"  # in a shard: how often each word was written so


def pieces(params: TokeniseParams, inputs: Inputs, count: int) -> list[Ranges]:
    return batch_ranges(splits(inputs["corpus"]), count)


def shard(params: TokeniseParams, inputs: Inputs, piece: Ranges, out: Path) -> None:
    """Tokenise some batches of sentences."""
    written: Counter[str] = Counter()
    for split, chosen in piece.items():
        path = inputs["corpus"] / f"{split}.arrow"
        counted = written if split == "train" else Counter()
        made = map(partial(_tokenise, path, params), range(*chosen))
        write_batches(out / path.name, _schema(path), _counted(made, counted))
    (out / COUNTS).write_text(json.dumps(written, ensure_ascii=False), encoding="utf-8")


def compute(params: TokeniseParams, inputs: Inputs, out: Path, shards: Sequence[Path] = ()) -> None:
    start, total = time.monotonic(), 0
    written: Counter[str] = Counter()  # in the training text alone: the others are not known yet
    for split, path in splits(inputs["corpus"]).items():
        advance = meter(f"tokenising {split}", open_table(path).num_rows)
        made = _tokenised(path, params, written if split == "train" else Counter())
        if shards:
            files = [folder / path.name for folder in shards]
            made = chain.from_iterable(batches(file) for file in files if file.exists())
        write_batches(out / path.name, _schema(path), _shown(made, advance))
        total += sum(len(batch["words"].flatten()) for batch in batches(out / path.name))
    describe_splits(out)
    for folder in shards:
        written.update(load_json(folder / COUNTS, dict))
    if params.lowercase:
        save_written(out, written)
    rate = "" if shards else f", {total / (time.monotonic() - start):,.0f} a second"
    say(f"tokenise: {total:,} words{rate}")


def _schema(path: Path) -> pa.Schema:
    """Return the schema of the words of a table of sentences."""
    kept = (field for field in open_table(path).schema if field.name in KEPT)
    return pa.schema([*SCHEMA, *kept])


def _shown(
    made: Iterable[pa.RecordBatch], advance: Callable[[int], None]
) -> Iterator[pa.RecordBatch]:
    for batch in made:
        yield batch
        advance(len(batch))
    advance(0)


def _tokenised(
    path: Path, params: TokeniseParams, written: Counter[str]
) -> Iterator[pa.RecordBatch]:
    """Yield the words of each batch of sentences, in order; processes share the batches.

    The original spellings of lowercased words are counted.
    """
    total = count_batches(path)
    processes = min(params.processes or (_cores() if total >= LONG else 1), total)
    with _new_processes(processes) if processes > 1 else nullcontext() as pool:
        made = (pool.imap if pool else map)(partial(_tokenise, path, params), range(total))
        yield from _counted(made, written)


def _new_processes(count: int) -> Pool:
    """Start processes that share nothing: a fork would copy locks that other threads hold.

    Such a process imports the main script. It is hidden, or one without
    `if __name__ == "__main__"` would run again in each of them.
    """
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        return get_context("spawn").Pool(count)
    finally:
        sys.modules["__main__"] = script


def _counted(
    made: Iterable[tuple[pa.RecordBatch, Counter[str]]], written: Counter[str]
) -> Iterator[pa.RecordBatch]:
    for batch, counts in made:
        written.update(counts)
        yield batch


def _cores() -> int:
    """Return the cores of this process, or all where the system, as macOS, cannot tell."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def _tokenise(
    path: Path, params: TokeniseParams, number: int
) -> tuple[pa.RecordBatch, Counter[str]]:
    """Return the words of one batch of sentences, and how often each was written so."""
    batch = next(batches(path, range(number, number + 1)))
    rows = batch.to_pylist()
    texts = tokenised(row["text"] for row in rows if row["forms"] is None)
    words = [next(texts) if row["forms"] is None else _chosen(row, params.view) for row in rows]
    written = Counter(chain.from_iterable(words)) if params.lowercase else Counter()
    if params.lowercase:
        words = [[word.lower() for word in sentence] for sentence in words]
    columns = {"words": pa.array(words, SCHEMA.field("words").type)}
    columns |= {name: batch[name] for name in batch.schema.names if name in KEPT}
    return pa.RecordBatch.from_pydict(columns), written


def _chosen(row: dict, view: str) -> list[str]:
    """Return the treebank's words of one sentence, in the spelling of the tokeniser."""
    return list(map(normalise, words_of(zip(row["forms"], row["kinds"], strict=True), view)))
