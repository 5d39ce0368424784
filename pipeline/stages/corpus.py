"""Stage `corpus`: sources become sentences with splits and labels.

Each of several sources is a part, and results are given by part too. A sentence that stands in two
of them is kept once. A text to pretrain on has no sentence of validation or test.
"""

import hashlib
import json
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from accord.corpora.sources import (
    CORPORA,
    SourcePiece,
    held_out_in_name,
    part_names,
    read_parts,
)
from accord.corpora.sources import shards as shards_of
from accord.corpora.text import Sentence
from accord.corpora.tokenise import comparable
from accord.errors import AccordError
from accord.models.common.checks import nearest
from accord.models.common.files import load_json
from accord.pipeline.base.arrow import Spool, batches, rows, write_rows
from accord.pipeline.base.artefact import Inputs
from accord.pipeline.base.messages import counted, say, track
from accord.pipeline.base.names import ABOUT, PRETRAINING
from accord.pipeline.config.sections import SOURCE, CorpusParams
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.data.encoded import LABELS
from accord.pipeline.data.splits import (
    OWN_VALIDATION,
    Splits,
    keep_splits,
    split_by_document,
    split_by_sentence,
)


class ReadSentence(NamedTuple):
    """A sentence as it was read, and as a shard keeps it."""

    part: str
    document: str
    split: str | None  # that the source itself makes
    is_short: bool
    key: bytes  # the same for all copies of a text
    row: str  # in JSON


READ = pa.schema(
    {
        "part": pa.string(),
        "document": pa.string(),
        "split": pa.string(),
        "is_short": pa.bool_(),
        "key": pa.binary(16),
        "row": pa.string(),
    }
)
SENTENCES = "sentences.arrow"  # in a shard
LeftOut = dict[str, Counter[str]]  # by part, how many texts were left out for each reason


class Labels:
    """The requested labels of each sentence, and the names of all labels."""

    def __init__(self, names: Sequence[str]):
        self.names = names
        self.known: dict[str, None] = {SOURCE: None}  # in the order of first occurrence

    @property
    def field(self) -> pa.Field:
        return pa.field(LABELS, pa.struct({name: pa.string() for name in self.names}))

    def select(self, part: str, sentence: Sentence) -> dict[str, str | None]:
        """Return the requested labels of a sentence."""
        if not self.names:
            return {}
        labels = {**dict(sentence.labels), SOURCE: part}
        self.known |= dict.fromkeys(labels)
        return {name: labels.get(name) for name in self.names}

    def check(self, sources: Sequence[str], training: Path) -> None:
        """Reject a label that no training sentence has."""
        for name, values in label_values([training]).items():
            if not values:
                others = ": only others have one" if name in self.known else ""
                raise AccordError(
                    f"corpus.labels: no sentence of {', '.join(sources)} that is trained on has a "
                    f"label '{name}'{others or nearest(name, self.known)}"
                )


def label_values(tables: Iterable[Path]) -> dict[str, list[str]]:
    """Return the labels of each kind in some tables of sentences, in alphabetical order."""
    values: dict[str, set[str]] = {}
    for batch in (batch for path in tables for batch in batches(path)):
        if LABELS not in batch.schema.names:
            return {}
        for name in (field.name for field in batch[LABELS].type):
            values.setdefault(name, set()).update(batch[LABELS].field(name).unique().to_pylist())
    return {name: sorted(labels - {None}) for name, labels in values.items()}


def label_numbers(batch: pa.RecordBatch, values: Mapping[str, Sequence[str]]) -> np.ndarray:
    """Return the number of each sentence's label of each kind, 0 if training lacks it."""
    columns = []
    for name, known in values.items():
        place = pc.index_in(batch[LABELS].field(name), pa.array(known, pa.string()))
        columns.append(pc.fill_null(pc.add(place, 1), 0).to_numpy(zero_copy_only=False))
    return np.stack(columns, 1).astype(np.int16)


SCHEMA = pa.schema(
    {
        "id": pa.string(),
        "document": pa.string(),  # null where sentences were drawn one by one
        "text": pa.string(),
        "forms": pa.list_(pa.string()),  # a treebank's rows, null where the text is raw
        "kinds": pa.list_(pa.string()),
    }
)
FEW = 20  # test sentences: figures of fewer are unreliable
REPEATED_WORDS = 8  # of running text; shorter sentences may be said again
PART = pa.field("part", pa.string())  # the name of its source, where there are several


def pieces(params: CorpusParams, inputs: Inputs, count: int) -> list[tuple[str, list[SourcePiece]]]:
    """Return the sources in at most `count` shards, and so the text to pretrain on."""
    kinds = {SOURCE: params.source, PRETRAINING: params.pretraining or ()}
    return [(kind, shard) for kind in kinds for shard in shards_of(kinds[kind], folder_of, count)]


def shard(
    params: CorpusParams, inputs: Inputs, piece: tuple[str, list[SourcePiece]], out: Path
) -> None:
    """Read and split into sentences some pieces of the sources."""
    kind, chosen = piece
    left_out: LeftOut = {}
    labels = Labels(params.labels)
    sentences = _read(params, kind, labels, left_out, chosen)
    write_rows(out / SENTENCES, READ, (sentence._asdict() for sentence in sentences))
    about = {"kind": kind, "left out": left_out, "labels": [*labels.known]}
    (out / ABOUT).write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")


def _read(
    params: CorpusParams,
    kind: str,
    labels: Labels,
    left_out: LeftOut,
    chosen: Sequence[SourcePiece] | None = None,
) -> Iterator[ReadSentence]:
    """Yield the sentences of the sources, or of the text to pretrain on, or of `chosen` pieces."""
    sources, limit = params.source, params.limit
    if kind == PRETRAINING:
        sources, limit = params.pretraining, None
    settings = {"folder": folder_of, "limit": limit, "left_out": left_out, "shard": chosen}
    for part, sentence in read_parts(sources, **settings):
        rows = sentence.rows
        row = {
            "id": sentence.id,
            "document": sentence.document,
            "text": sentence.text,
            "forms": None if rows is None else [row.form for row in rows],
            "kinds": None if rows is None else [row.kind for row in rows],
            "part": part,
            LABELS: labels.select(part, sentence),
        }
        is_short = len(sentence.text.split()) < REPEATED_WORDS
        key = _key(sentence.text)
        yield ReadSentence(part, sentence.document, sentence.split, is_short, key, json.dumps(row))


def _read_shards(
    shards: Sequence[Path], kind: str, labels: Labels, left_out: LeftOut
) -> Iterator[ReadSentence]:
    """Yield the same from shards that were read before."""
    for folder in shards:
        about = load_json(folder / ABOUT, dict)
        if about["kind"] == kind:
            labels.known |= dict.fromkeys(about["labels"])
            for part, reasons in about["left out"].items():
                left_out.setdefault(part, Counter()).update(reasons)
            yield from (ReadSentence(**row) for row in rows(folder / SENTENCES))


def _key(text: str) -> bytes:
    return hashlib.blake2b(comparable(text).encode(), digest_size=16).digest()


def compute(params: CorpusParams, inputs: Inputs, out: Path, shards: Sequence[Path] = ()) -> None:
    read = partial(_read_shards, shards) if shards else partial(_read, params)
    labels, left_out = Labels(params.labels), {}
    schema = SCHEMA.append(PART) if len(params.source) > 1 else SCHEMA
    schema = schema.append(labels.field) if labels.names else schema
    with Spool(out / "spool") as spool:
        gathered = _gather(track(read(SOURCE, labels, left_out), "sentences read"), spool)
        _refuse_empty(params.source, gathered.of_parts)
        drawn = _split(gathered, params, len(spool))
        counts = {split: _count_documents(gathered, part) for split, part in drawn.splits.items()}
        for split, numbers in drawn.splits.items():
            if not numbers:
                raise AccordError(
                    f"corpus '{', '.join(params.source)}' leaves no sentence for the split "
                    f"'{split}': it has {len(spool)} in all, and each split needs one; valid is "
                    f"{params.valid}, test {params.test}, limit {params.limit or 'none'}"
                )
            alone = drawn.by_sentence if split in drawn.shuffled else ()
            write_rows(
                out / f"{split}.arrow", schema, _without_documents(spool.rows(numbers), alone)
            )
        about = {"left out": left_out, "repeated": spool.repeated}
    if not gathered.splits:
        about["drawn by sentence"] = drawn.by_sentence
    about["documents"] = counts
    labels.check(params.source, out / "train.arrow")
    for source in params.source:
        if name := held_out_in_name(source, folder_of):
            use = "its sentences are trained on" if gathered.splits else "its splits are drawn"
            say(f"corpus: {source} is named {name}, but no file beside it has another split: {use}")
    say("corpus: " + ", ".join(f"{len(part):,} {split}" for split, part in drawn.splits.items()))
    if 0 < len(drawn.splits.get("test", ())) < FEW:
        say(
            f"corpus: {counted(len(drawn.splits['test']), 'test sentence')}: too few to compare "
            f"models. More text, or a larger corpus.test, makes the figures reliable"
        )
    _say_left_out(about)
    if params.pretraining:
        held_out = [out / f"{split}.arrow" for split in drawn.splits if split != "train"]
        sentences = partial(read, PRETRAINING, labels)
        path = out / f"{PRETRAINING}.arrow"
        about[PRETRAINING] = _write_pretraining(
            params.pretraining, sentences, labels, held_out, path
        )
        _say_left_out(about[PRETRAINING], "of the text to pretrain on ")
    (out / ABOUT).write_text(json.dumps(about, indent=1, ensure_ascii=False), encoding="utf-8")


@dataclass
class Gathered:
    """The sentences that were read, by number, and the document of each."""

    splits: dict[str, array]  # sentences of each split that a source itself makes
    documents: array
    of_parts: dict[str, range]  # the documents of each part


def _gather(sentences: Iterable[ReadSentence], spool: Spool) -> Gathered:
    """Keep the sentences, with their splits and documents.

    Where a source makes no splits, copies of a sentence are kept once, and not at all where it
    stands in the splits of another source: one of those may be a test. Short sentences of running
    text are kept as often as they stand there: people say « Oui. » again and again.
    """
    gathered = Gathered({}, array("I"), {})
    name = document = None
    for part, inner, split, is_short, key, row in sentences:
        if (part, inner) != name:
            name = part, inner
            document = spool.number_of("\n".join(name))
            known = gathered.of_parts.get(part, range(document, document))
            gathered.of_parts[part] = range(known.start, max(known.stop, document + 1))
        is_running = part in CORPORA and CORPORA[part].running
        number = spool.add(row, key, repeat=split is not None or (is_running and is_short))
        if number is not None:
            gathered.documents.append(document)
        if split is not None:
            split = OWN_VALIDATION if split == "valid" else split
            gathered.splits.setdefault(split, array("I")).append(number)
    return gathered


class Drawn(NamedTuple):
    """The splits."""

    splits: Splits
    by_sentence: list[str]  # the parts whose sentences were drawn one by one
    shuffled: Collection[str]  # the splits whose sentences were drawn


def _split(gathered: Gathered, params: CorpusParams, sentences: int) -> Drawn:
    if splits := gathered.splits:
        others = range(sum(map(len, splits.values())), sentences)
        splits.setdefault("train", array("I")).extend(others)
        shuffled = {"train": params.valid or params.limit, "valid": params.valid}
        shuffled = {split for split, is_shuffled in shuffled.items() if is_shuffled}
        return Drawn(keep_splits(splits, params), [*gathered.of_parts], shuffled)
    of_parts = gathered.of_parts
    alone = {part: numbers[0] for part, numbers in of_parts.items() if len(numbers) == 1}
    splits = None
    if len(alone) < len(of_parts):
        ranges = [*of_parts.values()]
        splits = split_by_document(gathered.documents, [*alone.values()], params, ranges)
    by_sentence = [*(of_parts if splits is None else alone)]
    if by_sentence:
        is_long = splits is None and len(alone) < len(of_parts)
        sizes = "few or long documents" if is_long else "one document"
        names = ", ".join(by_sentence)
        say(f"corpus: {names}: {sizes}, so the splits are drawn sentence by sentence")
    splits = splits or split_by_sentence(len(gathered.documents), params)
    return Drawn(splits, by_sentence, splits.keys())


def _without_documents(rows: Iterable[dict], parts: Sequence[str]) -> Iterator[dict]:
    """Remove the document from rows of these parts, whose neighbours are from others."""
    for row in rows:
        yield {**row, "document": None} if row["part"] in parts else row


def _count_documents(gathered: Gathered, sentences: array) -> int:
    """Return how many documents these sentences are from."""
    is_used = bytearray(1 + max(gathered.documents))
    for sentence in sentences:
        is_used[gathered.documents[sentence]] = 1
    return sum(is_used)


def _write_pretraining(
    sources: Sequence[str],
    read: Callable[[LeftOut], Iterator[ReadSentence]],
    labels: Labels,
    held_out: Iterable[Path],
    path: Path,
) -> dict[str, Any]:
    """Write the pretraining text without held-out sentences and copies between sources.

    Returns how many were left out.
    """
    held_out_keys = {_key(row["text"]) for table in held_out for row in rows(table)}
    left_out: LeftOut = {}
    copies, parts = 0, set()
    with Spool(path.with_name("spool")) as spool:
        for sentence in track(read(left_out), "sentences to pretrain on"):
            parts.add(sentence.part)
            if sentence.key in held_out_keys:
                copies += 1
            else:
                spool.add(sentence.row, sentence.key, repeat=len(sources) == 1)
        _refuse_empty(sources, parts)
        if not len(spool):
            raise AccordError(
                f"corpus.pretraining: '{', '.join(sources)}' has no sentence that validation and "
                f"test lack: {copies:,} were left out"
            )
        schema = SCHEMA.append(PART) if len(sources) > 1 else SCHEMA
        schema = schema.append(labels.field) if labels.names else schema
        write_rows(path, schema, spool.rows(range(len(spool))))
        return {"left out": left_out, "repeated": spool.repeated, "held out": copies}


def _say_left_out(about: Mapping[str, Any], of_text: str = "") -> None:
    """Report how many sentences were left out, and why."""
    reasons = {
        "repeated": "copies of earlier sentences",
        "held out": "they are in validation or test too",
    }
    for key, reason in reasons.items():
        if count := about.get(key):
            say(f"corpus: {counted(count, 'sentence')} {of_text}left out: {reason}")
    for part, counts in about["left out"].items():
        text = ", ".join(f"{reason} ({count:,})" for reason, count in counts.most_common())
        say(f"corpus: left out of {part}: {text}")


def _refuse_empty(sources: Sequence[str], parts: Collection[str]) -> None:
    """Reject a source without a sentence; a shard of one may have none."""
    for source, part in zip(sources, part_names(sources), strict=True):
        if part not in parts:
            raise AccordError(f"the corpus {source} is empty: expected at least one sentence")
