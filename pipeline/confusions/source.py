"""The sentences of a treebank or a text, in words as models read them."""

from collections.abc import Iterator

import corpora
from corpora.normalise import normalise
from corpora.tokenise import tokenised
from pipeline.data.folders import folder_of


def sentences(source: str, split: str | None = None) -> Iterator[tuple[str, list[str]]]:
    """Each sentence's id and words, of one split of the source alone if it is named."""
    splits = set()
    for sentence in corpora.read(source, folder=folder_of):
        splits.add(sentence.split)
        if split in (None, sentence.split):
            yield sentence.id, _words(sentence)
    if split not in {None, *splits}:
        named = ", ".join(sorted(filter(None, splits))) or "none"
        raise ValueError(f"{source}: expected a split of it ({named}), got {split}")


def _words(sentence: corpora.Sentence) -> list[str]:
    if sentence.rows is None:
        return list(*tokenised([sentence.text]))
    return [normalise(word) for word in corpora.words(sentence.rows, "surface")]
