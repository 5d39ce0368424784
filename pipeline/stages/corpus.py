"""Sources become sentences with splits and labels.

Each of several sources is a part, and results are given by part too. A sentence that stands in two
of them is kept once. A text to pretrain on has no sentence of validation or test.
"""

import hashlib
import json
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    split_as_given,
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


class Labels:
    """The requested labels of each sentence, and the names of all labels."""

    def __init__(self, names: Sequence[str]):
        self.names, self.found = names, {SOURCE: None}  # in the order in which they came

    @property
    def field(self) -> pa.Field:
        return pa.field(LABELS, pa.struct({name: pa.string() for name in self.names}))

    def of(self, part: str, sentence: Sentence) -> dict[str, str | None]:
        if not self.names:
            return {}
        own = {**dict(sentence.labels), SOURCE: part}
        self.found |= dict.fromkeys(own)
        return {name: own.get(name) for name in self.names}

    def check(self, sources: Sequence[str], training: Path) -> None:
        """Reject a label that no training sentence has."""
        for name, values in label_values([training]).items():
            if not values:
                others = ": only others have one" if name in self.found else ""
                raise AccordError(
                    f"corpus.labels: no sentence of {', '.join(sources)} that is trained on has a "
                    f"label '{name}'{others or nearest(name, self.found)}"
                )


def label_values(tables: Iterable[Path]) -> dict[str, list[str]]:
    """The labels of each kind that some tables of sentences have, in the order of the alphabet."""
    found: dict[str, set[str]] = {}
    for batch in (batch for path in tables for batch in batches(path)):
        if LABELS not in batch.schema.names:
            return {}
        for name in (each.name for each in batch[LABELS].type):
            found.setdefault(name, set()).update(batch[LABELS].field(name).unique().to_pylist())
    return {name: sorted(values - {None}) for name, values in found.items()}


def label_numbers(batch: pa.RecordBatch, values: Mapping[str, Sequence[str]]) -> np.ndarray:
    """The number of each sentence's label of each kind, 0 where training has none such."""
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
FEW = 20  # test sentences: figures of fewer say little
REPEATED_WORDS = 8  # of running text; sentences that are shorter may be said again
PART = pa.field("part", pa.string())  # the name of its source, where there are several


@dataclass
class Gathered:
    """The sentences that were read, by number, and the document of each."""

    given: dict[str, array]  # sentences of each split that a source itself makes
    documents: array
    of_parts: dict[str, range]  # the documents of each part

    @property
    def of_one_document(self) -> dict[str, int]:
        """The parts that are one document, and which."""
        return {part: found[0] for part, found in self.of_parts.items() if len(found) == 1}


def pieces(params: CorpusParams, inputs: Inputs, count: int) -> list[tuple[str, list[SourcePiece]]]:
    """The sources in at most so many shards, and so is the text to pretrain on."""
    kinds = {SOURCE: params.source, PRETRAINING: params.pretraining or ()}
    return [(kind, shard) for kind in kinds for shard in shards_of(kinds[kind], folder_of, count)]


def shard(
    params: CorpusParams, inputs: Inputs, piece: tuple[str, list[SourcePiece]], out: Path
) -> None:
    """Read and split into sentences some pieces of the sources."""
    kind, chosen = piece
    left_out: dict[str, Counter[str]] = {}
    labelled = Labels(params.labels)
    read = _read(params, kind, labelled, left_out, chosen)
    write_rows(out / SENTENCES, READ, (each._asdict() for each in read))
    about = {"kind": kind, "left out": left_out, "labels": [*labelled.found]}
    (out / ABOUT).write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")


def _read(
    params: CorpusParams,
    kind: str,
    labelled: Labels,
    left_out: dict[str, Counter[str]],
    chosen: Sequence[SourcePiece] | None = None,
) -> Iterator[ReadSentence]:
    """The sentences of the sources, or of the text to pretrain on; `chosen` has pieces of them."""
    sources, limit = params.source, params.limit
    if kind == PRETRAINING:
        sources, limit = params.pretraining, None
    given = {"folder": folder_of, "limit": limit, "left_out": left_out, "shard": chosen}
    for part, sentence in read_parts(sources, **given):
        row = json.dumps(_row(part, sentence, labelled))
        is_short = len(sentence.text.split()) < REPEATED_WORDS
        key = _key(sentence.text)
        yield ReadSentence(part, sentence.document, sentence.split, is_short, key, row)


def _read_shards(
    shards: Sequence[Path], kind: str, labelled: Labels, left_out: dict[str, Counter[str]]
) -> Iterator[ReadSentence]:
    """The same from shards that were read before."""
    for folder in shards:
        about = load_json(folder / ABOUT, dict)
        if about["kind"] == kind:
            labelled.found |= dict.fromkeys(about["labels"])
            for part, reasons in about["left out"].items():
                left_out.setdefault(part, Counter()).update(reasons)
            yield from (ReadSentence(**row) for row in rows(folder / SENTENCES))


def _key(text: str) -> bytes:
    return hashlib.blake2b(comparable(text).encode(), digest_size=16).digest()


def compute(params: CorpusParams, inputs: Inputs, out: Path, shards: Sequence[Path] = ()) -> None:
    def read(kind: str, left_out: dict[str, Counter[str]]) -> Iterator[ReadSentence]:
        if shards:
            return _read_shards(shards, kind, labelled, left_out)
        return _read(params, kind, labelled, left_out)

    left_out: dict[str, Counter[str]] = {}
    labelled = Labels(params.labels)
    schema = _schema(params.source, labelled)
    with Spool(out / "spool") as spool:
        gathered = _gather(track(read(SOURCE, left_out), "sentences read"), spool)
        _refuse_empty(params.source, gathered.of_parts)
        about = {"left out": left_out, "repeated": spool.repeated}
        if given := gathered.given:
            others = range(sum(map(len, given.values())), len(spool))
            given.setdefault("train", array("I")).extend(others)
            parts, alone = split_as_given(given, params), [*gathered.of_parts]
            drawn = {"train": params.valid or params.limit, "valid": params.valid}
        else:
            parts, alone = _draw(gathered, params)
            drawn = dict.fromkeys(parts, True)
            about["drawn by sentence"] = alone
        about["documents"] = {split: _count(gathered, numbers) for split, numbers in parts.items()}
        for split, numbers in parts.items():
            if not numbers:
                raise AccordError(
                    f"corpus '{', '.join(params.source)}' leaves no sentence for the split "
                    f"'{split}': it has {len(spool)} in all, and each split needs one; valid is "
                    f"{params.valid}, test {params.test}, limit {params.limit or 'none'}"
                )
            shown = _without_documents(spool.rows(numbers), alone if drawn.get(split) else ())
            write_rows(out / f"{split}.arrow", schema, shown)
    labelled.check(params.source, out / "train.arrow")
    for source in params.source:
        if name := held_out_in_name(source, folder_of):
            use = "its sentences are trained on" if given else "its splits are drawn"
            say(f"corpus: {source} is named {name}, but no file beside it has another split: {use}")
    say("corpus: " + ", ".join(f"{len(part):,} {split}" for split, part in parts.items()))
    if 0 < len(parts.get("test", ())) < FEW:
        say(
            f"corpus: {counted(len(parts['test']), 'test sentence')}: too few to compare models. "
            f"More text, or a larger corpus.test, makes the figures reliable"
        )
    _say_left_out(about)
    if params.pretraining:
        held_out = [out / f"{split}.arrow" for split in parts if split != "train"]
        about[PRETRAINING] = _write_pretraining(params.pretraining, read, labelled, held_out, out)
        _say_left_out(about[PRETRAINING], "of the text to pretrain on ")
    (out / ABOUT).write_text(json.dumps(about, indent=1, ensure_ascii=False), encoding="utf-8")


def _draw(gathered: Gathered, params: CorpusParams) -> tuple[Splits, list[str]]:
    """The splits, and the parts whose sentences had to be drawn one by one."""
    alone = gathered.of_one_document
    if len(alone) < len(gathered.of_parts):
        of_parts = [*gathered.of_parts.values()]
        parts = split_by_document(gathered.documents, [*alone.values()], params, of_parts)
        if parts:
            _say_alone(alone, "one document")
            return parts, [*alone]
    sizes = "one document" if len(alone) == len(gathered.of_parts) else "few or long documents"
    _say_alone(gathered.of_parts, sizes)
    return split_by_sentence(len(gathered.documents), params), [*gathered.of_parts]


def _say_alone(parts: Iterable[str], sizes: str) -> None:
    if names := ", ".join(parts):
        say(f"corpus: {names}: {sizes}, so the splits are drawn sentence by sentence")


def _without_documents(found: Iterable[dict], parts: Sequence[str]) -> Iterator[dict]:
    """Remove the document from rows of these parts, whose neighbours are from others."""
    for row in found:
        yield {**row, "document": None} if row["part"] in parts else row


def _count(gathered: Gathered, sentences: array) -> int:
    """How many documents these sentences are from."""
    is_found = bytearray(1 + max(gathered.documents))
    for sentence in sentences:
        is_found[gathered.documents[sentence]] = 1
    return sum(is_found)


def _write_pretraining(
    sources: Sequence[str],
    read: Callable[[str, dict[str, Counter[str]]], Iterator[ReadSentence]],
    labelled: Labels,
    held_out: Iterable[Path],
    out: Path,
) -> dict[str, Any]:
    """Write the pretraining text without held-out sentences and copies between sources.

    Returns how many were left out.
    """
    judged = {_key(row["text"]) for path in held_out for row in rows(path)}
    left_out: dict[str, Counter[str]] = {}
    copies, parts = 0, set()
    with Spool(out / "spool") as spool:
        for sentence in track(read(PRETRAINING, left_out), "sentences to pretrain on"):
            parts.add(sentence.part)
            if sentence.key in judged:
                copies += 1
            else:
                spool.add(sentence.row, sentence.key, repeat=len(sources) == 1)
        _refuse_empty(sources, parts)
        if not len(spool):
            raise AccordError(
                f"corpus.pretraining: '{', '.join(sources)}' has no sentence that validation and "
                f"test lack: {copies:,} were left out"
            )
        schema = _schema(sources, labelled)
        write_rows(out / f"{PRETRAINING}.arrow", schema, spool.rows(range(len(spool))))
        return {"left out": left_out, "repeated": spool.repeated, "held out": copies}


def _schema(sources: Sequence[str], labelled: Labels) -> pa.Schema:
    schema = SCHEMA.append(PART) if len(sources) > 1 else SCHEMA
    return schema.append(labelled.field) if labelled.names else schema


def _say_left_out(about: Mapping[str, Any], of_what: str = "") -> None:
    """Report how many sentences were left out, and why."""
    reasons = {
        "repeated": "copies of earlier sentences",
        "held out": "they are in validation or test too",
    }
    for key, reason in reasons.items():
        if count := about.get(key):
            say(f"corpus: {counted(count, 'sentence')} {of_what}left out: {reason}")
    for part, reasons_of_part in about["left out"].items():
        said = ", ".join(f"{reason} ({count:,})" for reason, count in reasons_of_part.most_common())
        say(f"corpus: left out of {part}: {said}")


def _is_running(part: str) -> bool:
    return part in CORPORA and CORPORA[part].running


def _refuse_empty(sources: Sequence[str], parts: Collection[str]) -> None:
    """Reject a source without a sentence, which a shard may have none of."""
    for source, part in zip(sources, part_names(sources), strict=True):
        if part not in parts:
            raise AccordError(f"the corpus {source} is empty: expected at least one sentence")


def _gather(read: Iterable[ReadSentence], spool: Spool) -> Gathered:
    """Keep the sentences; returns which splits and documents they are from.

    Where a source makes no splits, copies of a sentence are kept once, and not at all where it
    stands in the splits of another source: one of those may be a test. Short sentences of running
    text are kept as often as they stand there: people say « Oui. » again and again.
    """
    found = Gathered({}, array("I"), {})
    name = document = None
    for part, inside, own, is_short, key, row in read:
        if (part, inside) != name:
            name = part, inside
            document = spool.number_of("\n".join(name))
            known = found.of_parts.get(part, range(document, document))
            found.of_parts[part] = range(known.start, max(known.stop, document + 1))
        repeat = own is not None or (_is_running(part) and is_short)
        number = spool.add(row, key, repeat)
        if number is not None:
            found.documents.append(document)
        if own is not None:
            split = OWN_VALIDATION if own == "valid" else own
            found.given.setdefault(split, array("I")).append(number)
    return found


def _row(part: str, sentence: Sentence, labelled: Labels) -> dict:
    rows = sentence.rows
    return {
        "id": sentence.id,
        "document": sentence.document,
        "text": sentence.text,
        "forms": None if rows is None else [row.form for row in rows],
        "kinds": None if rows is None else [row.kind for row in rows],
        "part": part,
        LABELS: labelled.of(part, sentence),
    }
