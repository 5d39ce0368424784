"""Stage `tokenise`: sentences become words, by the tokeniser or by the treebank's rows."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pyarrow as pa

from corpora.normalise import normalise
from corpora.sentence import words as words_of
from corpora.tokenise import tokenised
from pipeline.artefacts.arrow import batches, open_table, rows, splits, write_rows
from pipeline.display.progress import say, track
from pipeline.prepared.written_forms import WRITTEN, save_written
from pipeline.stage import Inputs, Stage

SCHEMA = pa.schema({"words": pa.list_(pa.string())})


@dataclass(frozen=True)
class Params:
    # Of a treebank's contractions: surface (du), syntactic (de le), or rows (all three).
    view: Literal["surface", "syntactic", "rows"] = "surface"
    lowercase: bool = True  # words are compared without regard to capitals
    processes: int = field(default=1, compare=False)  # that tokenise side by side


def compute(params: Params, inputs: Inputs, out: Path) -> None:
    start, counted = time.monotonic(), 0
    written: Counter[str] = Counter()  # in the training text alone: the others are not known yet
    for split, path in splits(inputs["corpus"]).items():
        sentences = _words(path, params)
        if params.lowercase:
            sentences = _lowercased(sentences, written if split == "train" else Counter())
        total = open_table(path).num_rows
        write_rows(out / path.name, SCHEMA, track(sentences, f"tokenising {split}", total))
        counted += sum(len(batch["words"].flatten()) for batch in batches(out / path.name))
    if params.lowercase:
        save_written(out, written)
    rate = counted / (time.monotonic() - start)
    say(f"tokenise: {counted:,} words, {rate:,.0f} a second")


def _words(path: Path, params: Params) -> Iterator[dict]:
    first = next(rows(path))
    if first["forms"] is None:
        sentences = tokenised((row["text"] for row in rows(path)), params.processes)
    else:
        sentences = (_chosen(row, params.view) for row in rows(path))
    yield from ({"words": list(words)} for words in sentences)


def _lowercased(sentences: Iterable[dict], written: Counter[str]) -> Iterator[dict]:
    """The sentences in lower case; how their words were written is counted."""
    for sentence in sentences:
        written.update(sentence["words"])
        yield {"words": [word.lower() for word in sentence["words"]]}


def _chosen(row: dict, view: str) -> list[str]:
    """The treebank's words of one sentence, written as the tokeniser would write them."""
    return list(map(normalise, words_of(zip(row["forms"], row["kinds"], strict=True), view)))


STAGE = Stage(
    name="tokenise",
    help="turns sentences into words",
    inputs={"corpus": ()},
    outputs={
        "*.arrow": "the words of each sentence of each split",
        WRITTEN: "how training writes each word most often, where words are lowercased",
    },
    params=Params,
    compute=compute,
)
