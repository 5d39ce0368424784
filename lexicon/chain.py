"""Every lexicon by name, and several as one chain.

Lexicons come with Accord, from a user's file, or from other packages.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from difflib import get_close_matches
from importlib.metadata import entry_points
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import Literal

import numpy as np
import pandas as pd

from accord.errors import AccordError
from accord.lexicon.analysis import Analysis, Lexicon, LexiconError, Request, absent, moved, stack

# Name → module:object, imported at its first use. Each object makes a lexicon from a Request.
BUILT_IN = {
    "closed": "accord.lexicon.closed:closed",
    "lefff": "accord.lexicon.dictionaries:lefff",
    "dela": "accord.lexicon.dictionaries:dela",
    "lexique": "accord.lexicon.dictionaries:lexique",
    "unimorph": "accord.lexicon.dictionaries:unimorph",
    "guesser": "accord.lexicon.guesser:guesser",
    "gsd-lexicon": "accord.lexicon.tables:gsd",
    "gsd-contracted": "accord.lexicon.tables:gsd_contracted",
    "tiny": "accord.lexicon.tables:tiny",
}
# Functions that make a lexicon from a text: `treebank:FILE`, `spacy:TEXT`, `spacy:MODEL:TEXT`. The
# path of a table is one itself.
FROM_PATH = {
    "treebank": "accord.lexicon.tables:treebank",
    "spacy": "accord.lexicon.tables:spacy_text",
}
TABLES = (".tsv", ".csv")
TABLE = "accord.lexicon.tables:user_table"
GROUP = "accord.lexicons"


def names() -> list[str]:
    """Return every name that a chain may hold."""
    return [*BUILT_IN, *(point.name for point in entry_points(group=GROUP))]


def find(name: str) -> Callable[[Request], Lexicon]:
    """Return the maker of a lexicon: Accord's own, of a user's file, or of an entry point."""
    if name in BUILT_IN:
        return resolve_name(BUILT_IN[name])
    kind, colon, path = name.partition(":")
    if colon and kind in FROM_PATH:
        return resolve_name(FROM_PATH[kind])(Path(path))
    if Path(name).suffix in TABLES:
        return resolve_name(TABLE)(Path(name))
    for point in entry_points(group=GROUP, name=name):
        package = point.dist.name if point.dist else point.value
        with _blaming(name, f"of {package} cannot be loaded"):
            return point.load()
    near = get_close_matches(name, names(), n=1, cutoff=0.0)
    raise LexiconError(
        f"unknown lexicon {name!r}; did you mean {near[0]!r}? Known: {', '.join(names())}, "
        f"the path of a .tsv or .csv table, {', '.join(f'{kind}:PATH' for kind in FROM_PATH)}"
    )


def make(name: str, request: Request) -> Lexicon:
    """Return the lexicon of a name, as a chain requests it."""
    maker = find(name)
    with nullcontext() if name in BUILT_IN else _blaming(name, "cannot be made"):
        return maker(request)


def files(name: str, folder: Callable[[str], Path]) -> list[Path]:
    """Return the files that a lexicon's answers depend on; one that is written in code has none.

    `folder` returns the folder of a source's data.
    """
    maker = find(name)
    data = maker.files(folder) if hasattr(maker, "files") else []
    code = plug_in_file(name)
    return [*data, code] if code else data


def plug_in_file(name: str) -> Path | None:
    """Return the file in which another package defines a lexicon; None if no package does."""
    for point in () if name in BUILT_IN else entry_points(group=GROUP, name=name):
        find(name)
        return Path(sys.modules[point.module].__file__)
    return None


@contextmanager
def _blaming(name: str, fault: str) -> Iterator[None]:
    """Report any error of another package's code in one line. Missing data can be fetched."""
    try:
        yield
    except (LexiconError, OSError):
        raise
    except Exception as error:
        kind = type(error).__name__
        raise LexiconError(f"lexicon {name!r} {fault}: {kind}: {error}") from error


def load(
    names: Sequence[str],
    *,
    folder: Callable[[str], Path],
    join: Literal["fallback", "union"] = "fallback",
    lowercase: bool = False,
    strict: bool = False,
) -> Lexicon:
    """Load a chain of lexicons, such as `["closed", "lefff", "dela", "guesser"]`.

    A name is that of a lexicon, the path of a TSV or CSV table, `treebank:FILE` (CoNLL-U),
    `spacy:TEXT` or `spacy:MODEL:TEXT` (a text that a model of spaCy tags). `folder` returns the
    folder of a source's data. With `lowercase` all forms are compared in lower case; otherwise a
    form is looked up as it is written, and then in lower case. `strict` stops at the first row that
    cannot be read; the default lists such rows in `.skipped`.

    A lexicon made of a text (a treebank) only teaches the guesser, if there is one. Its own answers
    would tell the words of that text from all others.
    """
    if not names:
        raise LexiconError("expected a chain of one lexicon or more, got none")
    if "guesser" in names[:-1]:
        raise LexiconError("the guesser answers everything, so it must come last in the chain")
    lexicons: list[Lexicon] = []
    for name in names:
        lexicons.append(make(name, Request(folder, lowercase, strict, tuple(lexicons))))
    if names[-1] != "guesser":
        return Chain(lexicons, join) if len(lexicons) > 1 else lexicons[0]
    *known, guesser = lexicons
    known = [lexicon for lexicon in known if not lexicon.of_text]
    return Chain(known, join, guesser) if known else guesser


class Chain(Lexicon):
    """`fallback`: the first lexicon that knows a form answers. `union`: all answer.

    A guesser comes last and answers only for forms that no lexicon knows in any spelling.
    """

    def __init__(
        self,
        lexicons: Sequence[Lexicon],
        join: Literal["fallback", "union"] = "fallback",
        guesser: Lexicon | None = None,
    ):
        if join not in ("fallback", "union"):
            raise AccordError(f"join is 'fallback' or 'union', not {join!r}")
        self.lexicons = tuple(lexicons)
        self.join = join
        self.guesser = guesser
        parts = self.lexicons if guesser is None else (*self.lexicons, guesser)
        self.name = "+".join(part.name for part in parts)
        self.licence = ", ".join(dict.fromkeys(part.licence for part in parts))
        self.skipped = tuple(rows for part in parts for rows in part.skipped)

    def __iter__(self) -> Iterator[str]:
        seen = set()
        for lexicon in self.lexicons:
            yield from (form for form in lexicon if form not in seen)
            seen.update(lexicon)

    def __len__(self) -> int:
        return len(set().union(*self.lexicons))

    def find(self, forms: np.ndarray) -> pd.DataFrame:
        return self._fallback(forms) if self.join == "fallback" else self._union(forms)

    def _fallback(self, forms: np.ndarray) -> pd.DataFrame:
        unknown = np.arange(len(forms))
        parts = []
        for lexicon in self.lexicons:
            rows = lexicon.find(forms[unknown])
            parts.append(moved(rows, unknown))
            unknown = unknown[absent(rows, len(unknown))]
        return stack(parts)

    def _union(self, forms: np.ndarray) -> pd.DataFrame:
        rows = stack([lexicon.find(forms) for lexicon in self.lexicons])
        return rows.drop_duplicates(["word", "lemma", "upos", "feats"], ignore_index=True)

    def exact(self, form: str) -> tuple[Analysis, ...]:
        answers = (lexicon.exact(form) for lexicon in self.lexicons)
        if self.join == "fallback":
            return next(filter(None, answers), ())
        return tuple(dict.fromkeys(chain.from_iterable(answers)))

    def analyses(self, form: str) -> tuple[Analysis, ...]:
        known = super().analyses(form)
        return known if known or self.guesser is None else self.guesser.analyses(form)

    def lookup(self, forms: Sequence[str]) -> pd.DataFrame:
        known = super().lookup(forms)
        if self.guesser is None:
            return known
        forms = np.asarray(forms, dtype=object)
        unknown = absent(known, len(forms))
        return stack([known, moved(self.guesser.lookup(forms[unknown]), unknown)])
