"""Texts of several sizes from what the bundled model has read, each the beginning of the next.

Documents are drawn for training, validation or test as wholes and cut into passages, so that a
small text has some of every source as well. All sizes have the same validation and test.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from accord.corpora import sources
from accord.pipeline.data.catalogue import folder_of

SHARES = {"orangesum": 1.0, "wiktionnaire": 1.0, "fiches": 1.0, "eltec": 0.4}  # as preset `french`
HELD_OUT = {"test": 0.02, "dev": 0.02}  # of the documents
HELD_OUT_WORDS = 30_000  # of each of these splits
PASSAGE = 1000  # words, as many as a long article has


def write(sizes: Sequence[int], folder: Path, seed: int = 1) -> None:
    """Write `folder/SIZE/{train,dev,test}.txt`: a sentence a line, a blank line after a passage."""
    passages = _drawn(random.Random(seed))
    for size in sizes:
        (folder / str(size)).mkdir(parents=True)
        for split, found in passages.items():
            with (folder / str(size) / f"{split}.txt").open("w", encoding="utf-8") as file:
                left = size if split == "train" else HELD_OUT_WORDS
                for passage in found:
                    if left <= 0:
                        break
                    file.write("\n".join(passage) + "\n\n")
                    left -= sum(map(_count, passage))


def _drawn(draw: random.Random) -> dict[str, list[list[str]]]:
    """The passages of each split in random order."""
    passages = {"train": [], **{split: [] for split in HELD_OUT}}
    for source, share in SHARES.items():
        read = sources.read(source, folder=folder_of)
        for _, sentences in groupby(read, key=lambda sentence: sentence.document):
            # Both are drawn for every document, so that a share moves no other document.
            number, is_kept = draw.random(), draw.random() < share
            if is_kept:
                found = (sentence.text for sentence in sentences)
                passages[_split(number)] += _cut(found)
    for found in passages.values():
        draw.shuffle(found)
    return passages


def _split(number: float) -> str:
    """The split of a document, by a number between 0 and 1."""
    for split, share in HELD_OUT.items():
        if number < share:
            return split
        number -= share
    return "train"


def _cut(sentences: Iterator[str]) -> Iterator[list[str]]:
    passage, words = [], 0
    for sentence in sentences:
        passage.append(" ".join(sentence.split()))
        words += _count(sentence)
        if words >= PASSAGE:
            yield passage
            passage, words = [], 0
    if passage:
        yield passage


def _count(sentence: str) -> int:
    return len(sentence.split())
