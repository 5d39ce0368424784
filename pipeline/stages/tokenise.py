"""Stage `tokenise`: sentences become words, by the tokeniser or by the treebank's rows."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from functools import partial
from itertools import chain
from multiprocessing import Pool
from pathlib import Path

import pyarrow as pa

from accord.corpora.sentence import words as words_of
from accord.corpora.tokenise import normalise, tokenised
from accord.pipeline.artefacts.artefact import Inputs
from accord.pipeline.artefacts.tables import (
    batches,
    count_batches,
    open_table,
    splits,
    write_batches,
)
from accord.pipeline.dataset.encoded import LABELS
from accord.pipeline.dataset.unknown_words import save_written
from accord.pipeline.display.messages import meter, say
from accord.pipeline.sections import TokeniseParams

SCHEMA = pa.schema({"words": pa.list_(pa.string())})
# Further columns of a sentence: its document, its source if there are several, its labels.
KEPT = ("document", "part", LABELS)


def compute(params: TokeniseParams, inputs: Inputs, out: Path) -> None:
    start, counted = time.monotonic(), 0
    written: Counter[str] = Counter()  # in the training text alone: the others are not known yet
    for split, path in splits(inputs["corpus"]).items():
        table = open_table(path)
        schema = pa.schema([*SCHEMA, *(each for each in table.schema if each.name in KEPT)])
        advance = meter(f"tokenising {split}", table.num_rows)
        made = _tokenised(path, params, written if split == "train" else Counter())
        write_batches(out / path.name, schema, _shown(made, advance))
        counted += sum(len(batch["words"].flatten()) for batch in batches(out / path.name))
    if params.lowercase:
        save_written(out, written)
    rate = counted / (time.monotonic() - start)
    say(f"tokenise: {counted:,} words, {rate:,.0f} a second")


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
    """The words of each batch of sentences, in order; batches are tokenised side by side.

    The original spellings of lowercased words are counted.
    """
    total = count_batches(path)
    processes = min(params.processes or _cores(), total)
    tokenise = partial(_tokenise, path, params)
    with Pool(processes) if processes > 1 else nullcontext() as pool:
        for batch, counts in (pool.imap if pool else map)(tokenise, range(total)):
            written.update(counts)
            yield batch


def _cores() -> int:
    """Those that this process may use, or all of them where the system, as macOS, cannot tell."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def _tokenise(
    path: Path, params: TokeniseParams, number: int
) -> tuple[pa.RecordBatch, Counter[str]]:
    """The words of one batch of sentences, and how often each was written so."""
    batch = next(batches(path, [number]))
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
    """The treebank's words of one sentence, written as the tokeniser would write them."""
    return list(map(normalise, words_of(zip(row["forms"], row["kinds"], strict=True), view)))
