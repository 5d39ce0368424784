"""Stage `corpus`: sources of French sentences become sentences with splits.

Of several sources each is a part, by whose name results are given too; a sentence that stands in
two of them is kept once.
"""

import random
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa

from accord.corpora.sentence import Sentence
from accord.corpora.sources import read_parts
from accord.pipeline.artefacts.arrow import write_rows
from accord.pipeline.artefacts.artefact import Inputs
from accord.pipeline.artefacts.spool import Spool
from accord.pipeline.data.folders import folder_of
from accord.pipeline.display.progress import say, track
from accord.pipeline.prepared.labels import LABELS
from accord.pipeline.prepared.special_words import PRETRAINING
from accord.pipeline.sections import CorpusParams
from accord.pipeline.stages.sentence_labels import Labels

SCHEMA = pa.schema(
    {
        "id": pa.string(),
        "text": pa.string(),
        "forms": pa.list_(pa.string()),  # a treebank's rows, null where the text is raw
        "kinds": pa.list_(pa.string()),
    }
)
PART = pa.field("part", pa.string())  # the name of its source, where there are several
OWN_VALIDATION = "dev"  # what the source holds out itself; `valid` is what is drawn here


def compute(params: CorpusParams, inputs: Inputs, out: Path) -> None:
    read = read_parts(params.source, folder=folder_of, limit=params.limit)
    labelled = Labels(params.labels)
    schema = _schema(params.source, labelled)
    with Spool(out / "spool") as spool:
        given = _gather(track(read, "sentences read"), spool, labelled)
        _say_repeated(spool)
        others = array("I", range(sum(map(len, given.values())), len(spool)))
        if given:
            given.setdefault("train", array("I")).extend(others)
            parts = _split_as_given(given, params)
        else:
            parts = _split_at_random(others, params)
        for split, numbers in parts.items():
            if not numbers:
                raise ValueError(
                    f"corpus '{', '.join(params.source)}' leaves no sentence for the split "
                    f"'{split}': it has {len(spool)} in all, and each split needs one; valid is "
                    f"{params.valid}, test {params.test}, limit {params.limit or 'none'}"
                )
            write_rows(out / f"{split}.arrow", schema, spool.rows(numbers))
    labelled.check(params.source, out / "train.arrow")
    if params.pretraining:
        _write_pretraining(params.pretraining, labelled, out)
    say("corpus: " + ", ".join(f"{len(part):,} {split}" for split, part in parts.items()))


def _write_pretraining(sources: Sequence[str], labelled: Labels, out: Path) -> None:
    """One source as it is, of several each sentence once."""
    read = track(read_parts(sources, folder=folder_of), "sentences to pretrain on")
    schema = _schema(sources, labelled)
    if len(sources) == 1:
        write_rows(out / f"{PRETRAINING}.arrow", schema, (_row(*each, labelled) for each in read))
        return
    with Spool(out / "spool") as spool:
        for part, sentence in read:
            spool.add(_row(part, sentence, labelled), key=sentence.text.casefold())
        _say_repeated(spool)
        write_rows(out / f"{PRETRAINING}.arrow", schema, spool.rows(range(len(spool))))


def _schema(sources: Sequence[str], labelled: Labels) -> pa.Schema:
    schema = SCHEMA.append(PART) if len(sources) > 1 else SCHEMA
    return schema.append(labelled.field) if labelled.names else schema


def _say_repeated(spool: Spool) -> None:
    if spool.repeated:
        say(f"corpus: {spool.repeated:,} sentences left out, as they stand there before")


def _gather(
    read: Iterable[tuple[str, Sentence]], spool: Spool, labelled: Labels
) -> dict[str, array]:
    """Keep the sentences; returns the numbers of each split that a source itself makes.

    Where it makes none, sentences that differ in no more than case are kept once, and not at all
    where they stand in the splits of another source: one of those may be a test.
    """
    given: dict[str, array] = {}
    for part, sentence in read:
        own = sentence.split is not None
        row = _row(part, sentence, labelled)
        number = spool.add(row, key=sentence.text.casefold(), repeat=own)
        if own:
            split = OWN_VALIDATION if sentence.split == "valid" else sentence.split
            given.setdefault(split, array("I")).append(number)
    return given


def _row(part: str, sentence: Sentence, labelled: Labels) -> dict:
    rows = sentence.rows
    return {
        "id": sentence.id,
        "text": sentence.text,
        "forms": None if rows is None else [row.form for row in rows],
        "kinds": None if rows is None else [row.kind for row in rows],
        "part": part,
        LABELS: labelled.of(part, sentence),
    }


def _split_at_random(numbers: array, params: CorpusParams) -> dict[str, array]:
    """Shuffle, take the limit, hold out validation and test."""
    random.Random(params.seed).shuffle(numbers)
    numbers = numbers[: params.limit]
    test, valid = _amount(params.test, numbers), _amount(params.valid, numbers)
    return {
        "train": numbers[test + valid :],
        "valid": numbers[test : test + valid],
        "test": numbers[:test],
    }


def _split_as_given(given: dict[str, array], params: CorpusParams) -> dict[str, array]:
    """Keep the source's splits; validation is drawn from train, or is the source's own."""
    parts = dict(given)
    train = parts.pop("train", array("I"))
    if params.valid or params.limit is not None:
        random.Random(params.seed).shuffle(train)
    if params.valid == 0:
        if OWN_VALIDATION not in parts:
            raise ValueError(
                f"valid is 0, but '{', '.join(params.source)}' has no split called dev or valid"
            )
        valid = parts.pop(OWN_VALIDATION)
    else:
        amount = _amount(params.valid, train)
        valid, train = train[:amount], train[amount:]
    if not parts:
        raise ValueError(
            f"corpus '{', '.join(params.source)}' leaves no split to test on: expected one besides "
            f"those for training and validation; with a valid above 0 its own dev is the test"
        )
    return {"train": train[: params.limit], "valid": valid, **parts}


def _amount(share_or_number: float, numbers: array) -> int:
    if share_or_number < 1:
        return round(share_or_number * len(numbers))
    return int(share_or_number)
