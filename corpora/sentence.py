"""A sentence of a corpus, and the choice of which of its rows are words."""

from collections.abc import Iterable
from typing import NamedTuple


class Row(NamedTuple):
    """One row of a treebank sentence."""

    form: str
    kind: str  # word, contracted, part or empty: `des` is contracted, `de` and `les` its parts


class Sentence(NamedTuple):
    """Text with, where a treebank fixed them, its words.

    `rows` is None for raw text, whose words the tokeniser makes. `split` is the source's own
    name for the part the sentence belongs to, or None where the pipeline is to split. `labels` are
    what it says of the sentence beside that, each with its name: `("genre", "news")`.
    """

    id: str
    text: str
    rows: tuple[Row, ...] | None = None
    split: str | None = None
    labels: tuple[tuple[str, str], ...] = ()


# Which kinds of rows are words.
VIEWS = {
    "surface": frozenset({"word", "contracted"}),
    "syntactic": frozenset({"word", "part"}),
    "rows": frozenset({"word", "contracted", "part"}),
}


def words(rows: Iterable[tuple[str, str]], view: str) -> list[str]:
    """The forms of a treebank sentence that `view` (a key of VIEWS) counts as words."""
    if view not in VIEWS:
        raise ValueError(f"unknown view {view!r}: expected one of {', '.join(VIEWS)}")
    chosen = VIEWS[view]
    return [form for form, kind in rows if kind in chosen]
