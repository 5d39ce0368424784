"""Stage `corpus`: a source of French sentences becomes sentences with splits."""

import random
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

import corpora
from corpora.sentence import Sentence
from pipeline.artefacts.arrow import write_rows
from pipeline.artefacts.spool import Spool
from pipeline.data.folders import folder_of
from pipeline.display.progress import say, track
from pipeline.prepared.special_words import PRETRAINING
from pipeline.stage import Inputs, Stage

SCHEMA = pa.schema(
    {
        "id": pa.string(),
        "text": pa.string(),
        "forms": pa.list_(pa.string()),  # a treebank's rows, null where the text is raw
        "kinds": pa.list_(pa.string()),
    }
)
OWN_VALIDATION = "dev"  # what the source holds out itself; `valid` is what is drawn here


@dataclass(frozen=True)
class Params:
    # A corpus name, a path (.txt with one sentence a line, .conllu), or hub:ID[:CONFIG][#COLUMN].
    source: str = "wiktionnaire"
    # At most so many sentences, drawn at random; of a hub data set the first ones, as the rest is
    # not downloaded; null takes all.
    limit: int | None = None
    # Held out of training for validation: a share below 1, or a number of sentences.
    # 0 takes the source's own `dev` split, if it has one.
    valid: float = 0.05
    test: float = 0.05  # held out for the test, where the source has no splits of its own
    seed: int = 1  # of the shuffle that draws the limit and the splits
    # A second source, which a network may read before the training text: train.pretraining.
    pretraining: str | None = None


def compute(params: Params, inputs: Inputs, out: Path) -> None:
    read = corpora.read(params.source, folder=folder_of, limit=params.limit)
    with Spool(out / "spool") as spool:
        given = _gather(track(read, "sentences read"), spool)
        if spool.repeated:
            say(f"corpus: {spool.repeated:,} sentences left out, as they stand there before")
        if given:
            parts = _split_as_given(given, params)
        else:
            parts = _split_at_random(array("I", range(len(spool))), params)
        for split, numbers in parts.items():
            if not numbers:
                raise ValueError(
                    f"corpus '{params.source}' leaves no sentence for the split '{split}': "
                    f"it has {len(spool)} in all, limit {params.limit}, valid {params.valid}, "
                    f"test {params.test}"
                )
            write_rows(out / f"{split}.arrow", SCHEMA, spool.rows(numbers))
    if params.pretraining:
        text = track(corpora.read(params.pretraining, folder=folder_of), "sentences to pretrain on")
        write_rows(out / f"{PRETRAINING}.arrow", SCHEMA, map(_row, text))
    say("corpus: " + ", ".join(f"{len(part):,} {split}" for split, part in parts.items()))


def _gather(sentences: Iterable[Sentence], spool: Spool) -> dict[str, array]:
    """Keep the sentences; returns the numbers of each split that the source itself makes.

    Where it makes none, sentences that differ in no more than case are kept once.
    """
    given: dict[str, array] = {}
    for sentence in sentences:
        if sentence.split is None:
            spool.add(_row(sentence), key=sentence.text.casefold())
        else:
            split = OWN_VALIDATION if sentence.split == "valid" else sentence.split
            given.setdefault(split, array("I")).append(spool.add(_row(sentence)))
    return given


def _row(sentence: Sentence) -> dict:
    rows = sentence.rows
    return {
        "id": sentence.id,
        "text": sentence.text,
        "forms": None if rows is None else [row.form for row in rows],
        "kinds": None if rows is None else [row.kind for row in rows],
    }


def _split_at_random(numbers: array, params: Params) -> dict[str, array]:
    """Shuffle, take the limit, hold out validation and test."""
    random.Random(params.seed).shuffle(numbers)
    numbers = numbers[: params.limit]
    test, valid = _amount(params.test, numbers), _amount(params.valid, numbers)
    return {
        "train": numbers[test + valid :],
        "valid": numbers[test : test + valid],
        "test": numbers[:test],
    }


def _split_as_given(given: dict[str, array], params: Params) -> dict[str, array]:
    """Keep the source's splits; validation is drawn from train, or is the source's own."""
    parts = dict(given)
    train = parts.pop("train", array("I"))
    if params.valid or params.limit is not None:
        random.Random(params.seed).shuffle(train)
    if params.valid == 0:
        if OWN_VALIDATION not in parts:
            raise ValueError(f"valid is 0, but '{params.source}' has no split called dev or valid")
        valid = parts.pop(OWN_VALIDATION)
    else:
        amount = _amount(params.valid, train)
        valid, train = train[:amount], train[amount:]
    return {"train": train[: params.limit], "valid": valid, **parts}


def _amount(share_or_number: float, numbers: array) -> int:
    if share_or_number < 1:
        return round(share_or_number * len(numbers))
    return int(share_or_number)


def _files(params: Params) -> list[Path]:
    sources = [params.source, *([params.pretraining] if params.pretraining else [])]
    return [path for source in sources for path in corpora.files(source, folder=folder_of)]


STAGE = Stage(
    name="corpus",
    help="reads a source of French sentences and splits it",
    inputs={},
    outputs={"*.arrow": "the sentences of each split: id, text, a treebank's rows"},
    params=Params,
    compute=compute,
    files=_files,
)
