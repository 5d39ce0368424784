"""Stage `corpus`: a source of French sentences becomes sentences with splits."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

import corpora
from corpora.sentence import Sentence
from pipeline.arrow import write_rows
from pipeline.data import folder_of
from pipeline.progress import say, track
from pipeline.stage import Inputs, Stage

SCHEMA = pa.schema(
    {
        "id": pa.string(),
        "text": pa.string(),
        "forms": pa.list_(pa.string()),  # a treebank's rows, null where the text is raw
        "kinds": pa.list_(pa.string()),
    }
)
VALIDATION_NAMES = ("valid", "dev")


@dataclass(frozen=True)
class Params:
    # A corpus name, a path (.txt with one sentence a line, .conllu), or hub:ID[:CONFIG][#COLUMN].
    source: str = "wiktionnaire"
    limit: int | None = None  # at most so many sentences, drawn at random; null takes all
    # Held out of training for validation: a share below 1, or a number of sentences.
    # 0 takes the source's own `dev` split, if it has one.
    valid: float = 0.05
    test: float = 0.05  # held out for the test, where the source has no splits of its own
    seed: int = 1  # of the shuffle that draws the limit and the splits


def compute(params: Params, inputs: Inputs, out: Path) -> None:
    found = list(track(corpora.read(params.source, folder=folder_of), "sentences read"))
    if any(sentence.split for sentence in found):
        parts = _split_as_given(found, params)
    else:
        parts = _split_at_random(found, params)
    for split, sentences in parts.items():
        if not sentences:
            raise ValueError(
                f"corpus '{params.source}' leaves no sentence for the split '{split}': "
                f"it has {len(found)} in all, limit {params.limit}, valid {params.valid}, "
                f"test {params.test}"
            )
        write_rows(out / f"{split}.arrow", SCHEMA, map(_row, sentences))
    say("corpus: " + ", ".join(f"{len(part):,} {split}" for split, part in parts.items()))


def _row(sentence: Sentence) -> dict:
    rows = sentence.rows
    return {
        "id": sentence.id,
        "text": sentence.text,
        "forms": None if rows is None else [row.form for row in rows],
        "kinds": None if rows is None else [row.kind for row in rows],
    }


def _split_at_random(found: Iterable[Sentence], params: Params) -> dict[str, Sequence[Sentence]]:
    """Shuffle what differs in more than case, take the limit, hold out validation and test."""
    sentences = list(_distinct(found))
    random.Random(params.seed).shuffle(sentences)
    sentences = sentences[: params.limit]
    test, valid = _amount(params.test, sentences), _amount(params.valid, sentences)
    return {
        "train": sentences[test + valid :],
        "valid": sentences[test : test + valid],
        "test": sentences[:test],
    }


def _split_as_given(found: Sequence[Sentence], params: Params) -> dict[str, Sequence[Sentence]]:
    """Keep the source's splits; validation is drawn from train, or is the source's own."""
    parts: dict[str, list[Sentence]] = {}
    for sentence in found:
        parts.setdefault(sentence.split or "train", []).append(sentence)
    train = parts.pop("train", [])
    if params.valid == 0:
        own = next((name for name in VALIDATION_NAMES if name in parts), None)
        if own is None:
            raise ValueError(f"valid is 0, but '{params.source}' has no split called dev or valid")
        valid = parts.pop(own)
    else:
        random.Random(params.seed).shuffle(train)
        amount = _amount(params.valid, train)
        valid, train = train[:amount], train[amount:]
    return {"train": train[: params.limit], "valid": valid, **parts}


def _distinct(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    seen: set[str] = set()
    for sentence in sentences:
        key = sentence.text.casefold()
        if key not in seen:
            seen.add(key)
            yield sentence


def _amount(share_or_number: float, sentences: Sequence[Sentence]) -> int:
    if share_or_number < 1:
        return round(share_or_number * len(sentences))
    return int(share_or_number)


STAGE = Stage(
    name="corpus",
    help="reads a source of French sentences and splits it",
    inputs={},
    outputs={"*.arrow": "the sentences of each split: id, text, a treebank's rows"},
    params=Params,
    compute=compute,
    files=lambda params: corpora.files(params.source, folder=folder_of),
)
