"""Weighted automata in the text form of OpenFst (AT&T's), for recognisers.

A state's arcs are the words listed there, with −log p in nats; an arc `<phi>` is taken only for a
word that the state has no arc for: a failure arc. Every state is final, with −log p of the
sentence's end. So each sentence has one path, whose weight is −log p. OpenFst's PhiMatcher reads
`<phi>` so. Read as ε, as many recognisers do, it lets a sentence have more paths, and the best of
them may be likelier than the sentence is.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from accord.models.ngram.arpa.notation import check_forms

EPSILON, PHI = "<eps>", "<phi>"
TEXT, SYMBOLS = ".fst.txt", ".syms.txt"


class Arcs(NamedTuple):
    """A row for each arc."""

    source: np.ndarray
    target: np.ndarray
    word: np.ndarray
    p: np.ndarray


class Automaton(NamedTuple):
    """What is written of a model over words."""

    words: int
    start: int
    end: np.ndarray  # p of the sentence's end in each state
    arcs: Arcs
    failures: Arcs  # at most one of a state; their words say nothing


def write_wfst(automaton: Automaton, forms: Sequence[str], path: Path) -> None:
    """Write `x.fst.txt` and, beside it, the table of its symbols, `x.syms.txt`."""
    check_forms(forms, automaton.words)
    for reserved in {EPSILON, PHI} & {*forms}:
        raise ValueError(f"forms: '{reserved}' is a symbol of the automaton: expected no such word")
    symbols = [EPSILON, PHI, *forms[1:]]  # END, the first, is no symbol but the end of a path
    table = path.with_name(path.name.removesuffix(TEXT) + SYMBOLS)
    lines = (f"{symbol}\t{number}\n" for number, symbol in enumerate(symbols))
    table.write_text("".join(lines), encoding="utf-8")
    ends = [f"{state}\t{_weight(p)}\n" for state, p in enumerate(automaton.end.tolist())]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(ends[automaton.start])  # the first line's state is where paths begin
        file.writelines(ends)
        for source, target, _, p in _rows(automaton.failures):
            file.write(f"{source}\t{target}\t{PHI}\t{PHI}\t{_weight(p)}\n")
        for source, target, word, p in _rows(automaton.arcs):
            symbol = symbols[word + 1]
            file.write(f"{source}\t{target}\t{symbol}\t{symbol}\t{_weight(p)}\n")


def _rows(arcs: Arcs) -> zip:
    return zip(*(column.tolist() for column in arcs), strict=True)


def _weight(p: float) -> str:
    return f"{-math.log(p):.8g}" if p > 0 else "Infinity"
