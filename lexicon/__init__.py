"""A form → its analyses: lemma, part of speech and features, from any lexicon or chain of them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from accord.lexicon.analysis import Analysis, Lexicon, Request
from accord.lexicon.chain import Chain
from accord.lexicon.reading import LexiconError
from accord.lexicon.registry import make

__all__ = ["Analysis", "Lexicon", "LexiconError", "load"]


def load(
    names: Sequence[str],
    *,
    folder: Callable[[str], Path],
    join: Literal["fallback", "union"] = "fallback",
    lowercase: bool = False,
    strict: bool = False,
) -> Lexicon:
    """The lexicon that a chain of names means, such as `["closed", "lefff", "dela", "guesser"]`.

    A name is a lexicon's, the path of a TSV or CSV table, or `treebank:PATH`. `folder` tells
    where a source's data lie. With `lowercase` the text is taken to be lowercased, so that forms
    match whatever their case; otherwise a form is tried as it stands and then in lower case.
    A lexicon made of a text (a treebank) only teaches the guesser where there is one: its own
    answers would tell the words of that text from all others.
    `strict` stops at the first row that cannot be read; the default lists them in `.skipped`.
    """
    if not names:
        raise LexiconError("expected a chain of one lexicon or more, got none")
    lexicons: list[Lexicon] = []
    if "guesser" in names[:-1]:
        raise LexiconError("the guesser answers everything, so it must come last in the chain")
    for name in names:
        request = Request(folder, lowercase, strict, tuple(lexicons))
        lexicons.append(make(name, request))
    if names[-1] != "guesser":
        return Chain(lexicons, join) if len(lexicons) > 1 else lexicons[0]
    *known, guesser = lexicons
    known = [lexicon for lexicon in known if not lexicon.of_text]
    return Chain(known, join, guesser) if known else guesser
