"""Stage `corpus`: sources of French sentences become sentences with splits.

Of several sources each is a part, by whose name results are given too; a sentence that stands in
two of them is kept once.
"""

import random
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

import corpora
from corpora.sentence import Sentence
from corpora.sources import read_parts
from models.common.checks import expect, expect_at_least
from pipeline.artefacts.arrow import write_rows
from pipeline.artefacts.spool import Spool
from pipeline.data.folders import folder_of
from pipeline.display.progress import say, track
from pipeline.prepared.labels import LABELS
from pipeline.prepared.special_words import PRETRAINING
from pipeline.stage import Inputs, Stage
from pipeline.stages.sentence_labels import SOURCE, Labels

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


@dataclass(frozen=True)
class Params:
    # A corpus name, a path (.txt with one sentence a line, .conllu, or .tsv and .jsonl with a
    # column `text`), or hub:ID[:CONFIG][#COLUMN]; or several. Where some have splits of their own,
    # the sentences of the others are for training. A hub data set is read once: `--force corpus`
    # reads it anew.
    source: tuple[str, ...] = ("wiktionnaire",)
    # At most so many sentences, drawn at random; of a hub data set the first ones, as the rest is
    # not downloaded; null takes all.
    limit: int | None = None
    # Held out of training for validation: a share below 1, or a number of sentences.
    # 0 takes the source's own `dev` split, if it has one.
    valid: float = 0.05
    test: float = 0.05  # held out for the test, where the source has no splits of its own
    seed: int = 1  # of the shuffle that draws the limit and the splits
    # A second text, of one source or several, which a network may read before the training text:
    # train.pretraining.
    pretraining: tuple[str, ...] | None = None

    # Names of labels that sentences have and that a network may be told (train.condition): comments
    # of CoNLL-U (`# genre = news`), columns of .tsv, .jsonl and hub data sets, or `source`, which
    # of several sources it is from.
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        expect_at_least(1, self, "limit")
        expect_at_least(0, self, "seed")
        for key in ("valid", "test"):
            value = getattr(self, key)
            is_amount = 0 <= value < 1 or (value >= 1 and value == int(value))
            expect(key, is_amount, "a share below 1 or a number of sentences", value)
        if SOURCE in self.labels and len(self.source) == 1:
            raise ValueError(f"labels: {SOURCE} expects several sources, found one")
        if len({*self.labels}) < len(self.labels):
            raise ValueError(f"labels: expected names that differ, found {', '.join(self.labels)}")
        if not self.source:
            raise ValueError("source: expected a source, or several, found none")
        for key in ("source", "pretraining"):
            sources = getattr(self, key) or ()
            if len({*sources}) < len(sources):
                raise ValueError(f"{key}: expected sources that differ, found {', '.join(sources)}")


def compute(params: Params, inputs: Inputs, out: Path) -> None:
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


def _files(params: Params) -> list[Path]:
    """Those of all sources; a hub data set has none, as a key must not ask the network."""
    sources = [*params.source, *(params.pretraining or ())]
    return [path for source in sources for path in corpora.files(source, folder=folder_of)]


STAGE = Stage(
    name="corpus",
    help="reads a source of French sentences and splits it",
    inputs={},
    outputs={
        "*.arrow": "the sentences of each split: id, text, a treebank's rows, its source and labels"
    },
    params=Params,
    compute=compute,
    version=1,
    files=_files,
)
