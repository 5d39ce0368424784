"""Texts of several sizes from what the bundled model has read, each the beginning of the next.

Documents are drawn for training, validation or test as wholes and cut into passages, so that a
small text has some of every source as well. All sizes have the same validation and test. Of the
novels that no size reads some sentences are written too, to judge models by.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from accord.corpora import sources
from accord.pipeline.data.catalogue import folder_of

SHARES = {"orangesum": 1.0, "wiktionnaire": 1.0, "fiches": 1.0, "eltec": 0.4}  # as preset `french`
HELD_OUT = {"test": 0.02, "dev": 0.02}  # of the documents
HELD_OUT_WORDS = 30_000  # of each of these splits
PASSAGE = 1000  # words, as many as a long article has
NOVELS = "eltec"
JUDGED, PAIRED = 8, 60  # novels that are not read: for figures, and to make minimal pairs of


def write(sizes: Sequence[int], folder: Path, seed: int = 1) -> None:
    """Write `folder/SIZE/{train,dev,test}.txt`: a sentence a line, a blank line after a passage.

    `folder/novels/test.txt` has 400 sentences of each of some novels, `folder/pairs.txt` the
    sentences of others.
    """
    passages, unread = _drawn(random.Random(seed))
    _write_unread(unread, folder)
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


def _write_unread(novels: list[list[str]], folder: Path) -> None:
    """Some novels that no size reads."""
    random.Random(7).shuffle(novels)
    judged = ["\n".join(novel[200:600]) for novel in novels[:JUDGED]]
    paired = [
        sentence
        for novel in novels[JUDGED : JUDGED + PAIRED]
        for sentence in novel[:1500]
        if 4 <= _count(sentence) <= 50
    ]
    (folder / "novels").mkdir(parents=True)
    texts = {"novels/test": "\n\n".join(judged), "pairs": "\n".join(paired)}
    texts["novels/dev"] = "Bonjour."  # beside which the name `test` makes a split
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text + "\n", encoding="utf-8")


def _drawn(draw: random.Random) -> tuple[dict[str, list[list[str]]], list[list[str]]]:
    """The passages of each split in random order, and the novels that are in none of them."""
    unread: list[list[str]] = []
    passages = {"train": [], **{split: [] for split in HELD_OUT}}
    for source, share in SHARES.items():
        read = sources.read(source, folder=folder_of)
        for _, sentences in groupby(read, key=lambda sentence: sentence.document):
            # Both are drawn for every document, so that a share moves no other document.
            number, is_kept = draw.random(), draw.random() < share
            texts = [" ".join(sentence.text.split()) for sentence in sentences]
            if is_kept:
                passages[_split(number)] += _cut(texts)
            if source == NOVELS and not (is_kept and _split(number) != "test"):
                unread.append(texts)
    for found in passages.values():
        draw.shuffle(found)
    return passages, unread


def _split(number: float) -> str:
    """The split of a document, by a number between 0 and 1."""
    for split, share in HELD_OUT.items():
        if number < share:
            return split
        number -= share
    return "train"


def _cut(sentences: Iterable[str]) -> Iterator[list[str]]:
    passage, words = [], 0
    for sentence in sentences:
        passage.append(sentence)
        words += _count(sentence)
        if words >= PASSAGE:
            yield passage
            passage, words = [], 0
    if passage:
        yield passage


def _count(sentence: str) -> int:
    return len(sentence.split())
