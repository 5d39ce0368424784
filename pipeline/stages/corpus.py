"""Stage `corpus`: sources become sentences with splits and labels.

Each of several sources is a part, and results are given by part too. A sentence that stands in two
of them is kept once. A text to pretrain on has no sentence of validation or test.

Splits are drawn by document: two sentences of one article share names and phrases, and a test on
one of them is easier where the other was trained on. Splits of the source itself are kept.
"""

import hashlib
import json
import random
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
from accord.models.data import in_a_row
from accord.pipeline.base.arrow import Spool, batches, describe_splits, rows, write_rows
from accord.pipeline.base.artefact import Inputs
from accord.pipeline.base.messages import counted, say, track
from accord.pipeline.base.names import ABOUT, PRETRAINING
from accord.pipeline.config.sections import SOURCE, CorpusParams
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.data.encoded import LABELS

Splits = dict[str, array]  # the numbers of each split's sentences
OWN_VALIDATION = "dev"  # held out by the source itself; `valid` is drawn here


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
    describe_splits(out)


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


def split_by_sentence(sentences: int, params: CorpusParams) -> Splits:
    """Shuffle, take the limit, hold out validation and test."""
    numbers = array("I", range(sentences))
    random.Random(params.seed).shuffle(numbers)
    numbers = numbers[: params.limit]
    test, valid = _amount(params.test, len(numbers)), _amount(params.valid, len(numbers))
    return {
        "train": numbers[test + valid :],
        "valid": numbers[test : test + valid],
        "test": numbers[:test],
    }


def split_by_document(
    documents: array, alone: Sequence[int], params: CorpusParams, of_parts: Sequence[range] = ()
) -> Splits | None:
    """Draw whole documents; the sentences of one stay together and in order.

    `documents` has the document of each sentence. Those in `alone` are drawn sentence by sentence.
    `of_parts` has the documents of each source, where there are several: every source gives its
    share of validation and test, also one that has few and long documents among many short ones.
    A limit may cut the last document that is drawn. None where no choice of documents has at least
    half as many sentences as a split is to have.
    """
    groups = np.array(documents, np.uint32)
    ends = np.array([part.stop for part in of_parts[:-1]], np.uint32)
    parts = np.searchsorted(ends, groups, side="right")
    for document in alone:
        sentences = np.flatnonzero(groups == document)
        groups[sentences] = groups.max() + 1 + np.arange(len(sentences))
    order = np.argsort(groups, kind="stable")
    groups = groups[order]
    starts = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
    sizes, parts = np.diff(starts, append=len(order)), parts[order][starts]
    drawn = array("I", range(len(sizes)))
    random.Random(params.seed).shuffle(drawn)
    waiting = _limited(np.array(drawn), sizes, params.limit)
    total = int(sizes[waiting].sum())
    shares = np.bincount(parts[waiting], sizes[waiting]) / total
    chosen = {}
    for split in ("test", "valid"):
        wanted, is_chosen = _amount(getattr(params, split), total), np.zeros(len(waiting), bool)
        for part, share in enumerate(shares):
            of_part = np.flatnonzero(parts[waiting] == part)
            amount = round(share * wanted)
            is_chosen[of_part[_held_out(sizes[waiting[of_part]], amount)]] = True
        chosen[split], waiting = waiting[is_chosen], waiting[~is_chosen]
        if sizes[chosen[split]].sum() < wanted / 2:
            return None
    if not len(waiting):
        return None
    return {
        split: _array(order[in_a_row(starts[documents], sizes[documents])])
        for split, documents in (("train", waiting), *reversed(chosen.items()))
    }


def _limited(drawn: np.ndarray, sizes: np.ndarray, limit: int | None) -> np.ndarray:
    """Return the first documents that have `limit` sentences; the last is cut in `sizes`."""
    if limit is None:
        return drawn
    starts = np.cumsum(sizes[drawn]) - sizes[drawn]
    kept = drawn[starts < limit]
    sizes[kept[-1]] = min(sizes[kept[-1]], limit - starts[len(kept) - 1])
    return kept


def _held_out(sizes: np.ndarray, wanted: int) -> np.ndarray:
    """Return documents, in the order of the draw, that have about `wanted` sentences."""
    is_chosen, missing = np.zeros(len(sizes), bool), wanted
    for place, size in enumerate(sizes.tolist()):
        if not missing:
            break
        if size <= missing:
            is_chosen[place] = True
            missing -= size
    others = np.flatnonzero(~is_chosen)
    if missing and len(others):
        nearest = others[np.argmin(sizes[others])]
        is_chosen[nearest] = sizes[nearest] < 2 * missing  # else it is nearer without
    return is_chosen


def keep_splits(splits: Mapping[str, array], params: CorpusParams) -> Splits:
    """Keep the source's splits; validation is drawn from train, or is the source's own."""
    parts = dict(splits)
    train = parts.pop("train", array("I"))
    if params.valid or params.limit is not None:
        random.Random(params.seed).shuffle(train)
    if params.valid == 0:
        if OWN_VALIDATION not in parts:
            raise AccordError(
                f"valid is 0, but '{', '.join(params.source)}' has no split called dev or valid"
            )
        valid = parts.pop(OWN_VALIDATION)
    else:
        amount = _amount(params.valid, len(train))
        valid, train = train[:amount], train[amount:]
    if not parts:
        raise AccordError(
            f"corpus '{', '.join(params.source)}' leaves no split to test on: expected one besides "
            f"those for training and validation; with a valid above 0 its own dev is the test"
        )
    return {"train": train[: params.limit], "valid": valid, **parts}


def _amount(share_or_number: float, sentences: int) -> int:
    return round(share_or_number * sentences) if share_or_number < 1 else int(share_or_number)


def _array(numbers: np.ndarray) -> array:
    return array("I", numbers.astype(np.uint32).tobytes())
