"""Every lexicon by name: those that come with Accord, and those that other packages bring."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

from accord.lexicon.analysis import Lexicon, Request
from accord.lexicon.reading import LexiconError

# Name → module:object, imported when asked for. Each object makes a lexicon from a Request.
BUILT_IN = {
    "closed": "accord.lexicon.closed:closed",
    "lefff": "accord.lexicon.dictionaries.ladl:lefff",
    "dela": "accord.lexicon.dictionaries.ladl:dela",
    "lexique": "accord.lexicon.dictionaries.lexique:lexique",
    "unimorph": "accord.lexicon.dictionaries.unimorph:unimorph",
    "guesser": "accord.lexicon.guesser:guesser",
    "gsd-lexicon": "accord.lexicon.dictionaries.treebank:gsd",
    "gsd-contracted": "accord.lexicon.dictionaries.treebank:gsd_contracted",
    "tiny": "accord.lexicon.dictionaries.table:tiny",
}
# Functions that make a lexicon from a text: `treebank:FILE`, `spacy:TEXT`, `spacy:MODEL:TEXT`. The
# path of a table is one itself.
FROM_PATH = {
    "treebank": "accord.lexicon.dictionaries.treebank:treebank",
    "spacy": "accord.lexicon.dictionaries.treebank:spacy_text",
}
TABLES = (".tsv", ".csv")
TABLE = "accord.lexicon.dictionaries.table:table"
GROUP = "accord.lexicons"


def names() -> list[str]:
    """Every name that a chain may hold."""
    return [*BUILT_IN, *(point.name for point in entry_points(group=GROUP))]


def find(name: str) -> Callable[[Request], Lexicon]:
    """The maker of a lexicon: Accord's own, one of a user's file, or an entry point's."""
    if name in BUILT_IN:
        return imported(BUILT_IN[name])
    kind, colon, path = name.partition(":")
    if colon and kind in FROM_PATH:
        return imported(FROM_PATH[kind])(Path(path))
    if Path(name).suffix in TABLES:
        return imported(TABLE)(Path(name))
    for point in entry_points(group=GROUP, name=name):
        with _named(name, f"of {point.dist.name if point.dist else point.value} cannot be loaded"):
            return point.load()
    near = get_close_matches(name, names(), n=1, cutoff=0.0)
    raise LexiconError(
        f"unknown lexicon {name!r}; did you mean {near[0]!r}? Known: {', '.join(names())}, "
        f"the path of a .tsv or .csv table, {', '.join(f'{kind}:PATH' for kind in FROM_PATH)}"
    )


def make(name: str, request: Request) -> Lexicon:
    """The lexicon of that name, as a chain asks for it."""
    maker = find(name)
    with nullcontext() if name in BUILT_IN else _named(name, "cannot be made"):
        return maker(request)


def files(name: str, folder: Callable[[str], Path]) -> list[Path]:
    """The files that a lexicon's answers depend on; one that is written in code has none.

    `folder` returns the folder of a source's data.
    """
    maker = find(name)
    own = maker.files(folder) if hasattr(maker, "files") else []
    brought = plug_in_file(name)
    return [*own, brought] if brought else own


def plug_in_file(name: str) -> Path | None:
    """The file in which another package defines a lexicon; None if no package does."""
    for point in () if name in BUILT_IN else entry_points(group=GROUP, name=name):
        find(name)
        return Path(sys.modules[point.module].__file__)
    return None


@contextmanager
def _named(name: str, fault: str) -> Iterator[None]:
    """Report any error of another package's code in one line. Missing data can be fetched."""
    try:
        yield
    except (LexiconError, OSError):
        raise
    except Exception as error:
        said = f"lexicon {name!r} {fault}: {type(error).__name__}: {error}"
        raise LexiconError(said) from error


def imported(place: str):
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)
