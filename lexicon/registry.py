"""Every lexicon by name: those that come with Accord, and those that other packages bring."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

from lexicon.analysis import Lexicon
from lexicon.reading import LexiconError
from lexicon.text import Request

# Name → module:object, imported when asked for. Each object makes a lexicon from a Request.
BUILT_IN = {
    "closed": "lexicon.closed:closed",
    "dela": "lexicon.dela:dela",
}
TABLES = (".tsv", ".csv")
GROUP = "accord.lexicons"


def names() -> list[str]:
    """Every name that a chain may hold."""
    return [*BUILT_IN, *(point.name for point in entry_points(group=GROUP))]


def find(name: str) -> Callable[[Request], Lexicon]:
    """The maker of a lexicon: Accord's own, a user's table, or an entry point's."""
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        return getattr(import_module(module), attribute)
    if Path(name).suffix in TABLES:
        from lexicon.table import table

        return table(Path(name))
    for point in entry_points(group=GROUP, name=name):
        return point.load()
    near = get_close_matches(name, names(), n=1, cutoff=0.0)
    raise LexiconError(
        f"unknown lexicon {name!r}; did you mean {near[0]!r}? Known: {', '.join(names())}, "
        "a path to a .tsv or .csv table, or treebank:PATH"
    )
