"""Files of lattices, Kaldi's form.

    ID                          begins a lattice, which a blank line ends
    START END WORD GRAPH,ACOUSTIC,ALIGNMENT
    END GRAPH,ACOUSTIC,         a final state

Costs are negative logarithms and are added up; what is not there costs nothing, `<eps>` is no word.
This is what `lattice-copy ark:lat.1 ark,t:- | utils/int2sym.pl -f 3 words.txt` prints.

What was said stands in a file of the same name that ends in `.txt`, as Kaldi's `text`: the ID, then
words.
"""

import math
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from io import TextIOWrapper
from itertools import groupby
from pathlib import Path

from accord.corpora.text import OPENERS, kind, lines, open_bytes
from accord.errors import AccordError
from accord.models.common.files import whole
from accord.zoo import htk
from accord.zoo.nbest import Arc, Lattice, NBest, read_nbest

SILENT = "<eps>"


def read_kaldi_lattices(path: Path) -> list[Lattice]:
    """The lattices of a file, in order; errors name the line."""
    numbered = enumerate((line.removeprefix("\ufeff").split() for line in lines(path)), start=1)
    blocks = groupby(numbered, key=lambda line: bool(line[1]))  # blank lines stand between them
    found = [_lattice(path, list(block)) for has_fields, block in blocks if has_fields]
    if not found:
        raise AccordError(f"{path}: expected lattices, but there is none")
    return found


def _lattice(path: Path, block: list[tuple[int, list[str]]]) -> Lattice:
    """A lattice from the numbered lines between two blank lines."""
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
        raise AccordError(f"{path}, line {number}: {error}") from None
    return lattice


def kaldi_text_of(lattice: Lattice) -> str:
    """A lattice as a file has it, with the blank line that ends it."""
    arcs = (f"{a.start} {a.end} {a.word or SILENT} {-a.score},0," for a in lattice.arcs)
    ends = (f"{node} {-score},0," for node, score in lattice.ends.items())
    return "\n".join([lattice.id, *arcs, *ends, "", ""])


def _arc(start: str, end: str, word: str, *cost: str) -> Arc:
    arc = Arc(_node(start), _node(end), "" if word == SILENT else word, -_cost(cost))
    if arc.start >= arc.end:
        raise AccordError(f"expected an arc to a later node, found {start} to {end}")
    return arc


def _expect(fields: Sequence[str], least: int, most: int, what: str) -> Sequence[str]:
    if not least <= len(fields) <= most:
        raise AccordError(f"expected {what}, found {' '.join(fields)!r}")
    return fields


def _node(text: str) -> int:
    if not text.isdecimal():
        raise AccordError(f"expected the number of a node, found {text!r}")
    return int(text)


def _cost(fields: Sequence[str]) -> float:
    """The sum of graph and acoustic cost; the alignment behind them tells nothing of words."""
    parts = fields[0].split(",")[:2] if fields else []
    try:
        total = sum(float(part) for part in parts if part)
    except ValueError:
        total = math.nan
    if not math.isfinite(total):
        raise AccordError(f"expected finite costs GRAPH,ACOUSTIC, found {fields[0]!r}")
    return total


KALDI, HTK = ".lat", ".slf"  # lattices of HTK are also read if they end as Kaldi's do
SIZE = 100  # so many of the best paths of a lattice are ranked anew


def is_lattice_file(path: Path) -> bool:
    return kind(path) in (KALDI, HTK)


def read_lists(path: Path) -> list[NBest]:
    """The n-best lists of a file, or the best paths of its lattices."""
    if not is_lattice_file(path):
        return read_nbest(path)
    said = _said(path)
    references = dict(map(_reference, lines(said))) if said.is_file() else {}
    return [found.nbest(SIZE, references.get(found.id)) for found in read_lattices(path)]


def read_lattices(path: Path) -> list[Lattice]:
    is_htk = kind(path) == HTK or htk.is_slf(path)
    return htk.read_lattices(path) if is_htk else read_kaldi_lattices(path)


def write_lattices(path: Path, lattices: Iterable[tuple[Lattice, str]]) -> None:
    """Write lattices, and the references to a file beside them."""
    text_of = htk.text_of if kind(path) == HTK else kaldi_text_of
    with ExitStack() as open_files:
        file, texts = (
            open_files.enter_context(TextIOWrapper(open_bytes(each, "wb"), "utf-8", newline="\n"))
            for each in [open_files.enter_context(whole(each)) for each in (path, _said(path))]
        )
        for lattice, reference in lattices:
            file.write(text_of(lattice))
            print(lattice.id, reference, file=texts)


def _said(path: Path) -> Path:
    plain = path.with_suffix("") if path.suffix in OPENERS else path
    return plain.with_suffix(".txt")


def _reference(line: str) -> tuple[str, str]:
    name, _, words = line.strip().partition(" ")
    return name, words
