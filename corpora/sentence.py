"""A sentence of a corpus, and the choice of which of its rows are words."""

from typing import NamedTuple


class Row(NamedTuple):
    """One row of a treebank sentence; `kind` is one of KINDS."""

    form: str
    kind: str


class Sentence(NamedTuple):
    """Text with, where a treebank fixed them, its words.

    `rows` is None for raw text, whose words the tokeniser makes. `split` is the source's own
    name for the part the sentence belongs to, or None where the pipeline is to split.
    """

    id: str
    text: str
    rows: tuple[Row, ...] | None = None
    split: str | None = None


# `des` is a contracted row; the `de` and `les` inside it are its parts.
KINDS = ("word", "contracted", "part", "empty")

VIEWS = {
    "surface": frozenset({"word", "contracted"}),
    "syntactic": frozenset({"word", "part"}),
    "rows": frozenset({"word", "contracted", "part"}),
}


def words(sentence: Sentence, view: str) -> tuple[str, ...]:
    """The forms of a treebank sentence that `view` (a key of VIEWS) counts as words."""
    if view not in VIEWS:
        raise ValueError(f"unknown view {view!r}: expected one of {', '.join(VIEWS)}")
    if sentence.rows is None:
        raise ValueError(f"sentence {sentence.id} is raw text: the tokeniser makes its words")
    chosen = VIEWS[view]
    return tuple(row.form for row in sentence.rows if row.kind in chosen)
