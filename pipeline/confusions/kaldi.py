"""Lattices in the text form of Kaldi's archives, with words instead of their numbers.

    ID                          begins a lattice, which a blank line ends
    START END WORD GRAPH,ACOUSTIC,ALIGNMENT
    END GRAPH,ACOUSTIC,         a final state

Costs are negative logarithms and are added up; what is not there costs nothing, `<eps>` is no word.
This is what `lattice-copy ark:lat.1 ark,t:- | utils/int2sym.pl -f 3 words.txt` prints.
"""

import math
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from accord.corpora.text import lines
from accord.pipeline.confusions.lattice import Arc, Lattice

SILENT = "<eps>"


def read_lattices(path: Path) -> list[Lattice]:
    """The lattices of a file, in order; what is wrong with it is named by line."""
    numbered = enumerate((line.removeprefix("\ufeff").split() for line in lines(path)), start=1)
    blocks = groupby(numbered, key=lambda line: bool(line[1]))  # blank lines stand between them
    found = [_lattice(path, list(block)) for has_fields, block in blocks if has_fields]
    if not found:
        raise ValueError(f"{path}: expected lattices, but there is none")
    return found


def _lattice(path: Path, block: list[tuple[int, list[str]]]) -> Lattice:
    """What stands between two blank lines, in numbered lines of fields."""
    arcs, ends = [], {}
    (number, name), *rest = block
    try:
        _expect(name, 1, 1, "the ID of a lattice")
        for line, fields in rest:
            number = line
            if len(fields) < 3:
                ends[_node(fields[0])] = -_cost(fields[1:])
            else:
                arcs.append(_arc(*_expect(fields, 3, 4, "START END WORD COSTS")))
        lattice = Lattice(*name, tuple(arcs), ends)
        lattice.nbest(1)  # or an error: there must be a path
    except ValueError as error:
        raise ValueError(f"{path}, line {number}: {error}") from None
    return lattice


def text_of(lattice: Lattice) -> str:
    """A lattice as a file has it, with the blank line that ends it."""
    arcs = (f"{a.start} {a.end} {a.word or SILENT} {-a.score},0," for a in lattice.arcs)
    ends = (f"{node} {-score},0," for node, score in lattice.ends.items())
    return "\n".join([lattice.id, *arcs, *ends, "", ""])


def _arc(start: str, end: str, word: str, *cost: str) -> Arc:
    arc = Arc(_node(start), _node(end), "" if word == SILENT else word, -_cost(cost))
    if arc.start >= arc.end:
        raise ValueError(f"expected an arc to a later node, found {start} to {end}")
    return arc


def _expect(fields: Sequence[str], least: int, most: int, what: str) -> Sequence[str]:
    if not least <= len(fields) <= most:
        raise ValueError(f"expected {what}, found {' '.join(fields)!r}")
    return fields


def _node(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"expected the number of a node, found {text!r}")
    return int(text)


def _cost(fields: Sequence[str]) -> float:
    """The sum of graph and acoustic cost; the alignment behind them tells nothing of words."""
    parts = fields[0].split(",")[:2] if fields else []
    try:
        total = sum(float(part) for part in parts if part)
    except ValueError:
        total = math.nan
    if not math.isfinite(total):
        raise ValueError(f"expected finite costs GRAPH,ACOUSTIC, found {fields[0]!r}")
    return total
