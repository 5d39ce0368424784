"""Files of lattices, in Kaldi's form or HTK's, and what is ranked of them.

What was said stands in a file of the same name that ends in `.txt`, as Kaldi's `text`: the ID, then
words.
"""

from collections.abc import Iterable
from contextlib import ExitStack
from io import TextIOWrapper
from pathlib import Path

from accord.corpora.text import OPENERS, kind, lines, open_bytes
from accord.pipeline.confusions import kaldi
from accord.pipeline.confusions.htk import reading, writing
from accord.pipeline.confusions.lattice import Lattice
from accord.pipeline.inference.nbest import NBest, read_nbest

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
    is_htk = kind(path) == HTK or reading.is_slf(path)
    return (reading if is_htk else kaldi).read_lattices(path)


def write_lattices(path: Path, lattices: Iterable[tuple[Lattice, str]]) -> None:
    """Lattices, and what was said in a file beside them."""
    text_of = writing.text_of if kind(path) == HTK else kaldi.text_of
    with ExitStack() as open_files:
        file, texts = (
            open_files.enter_context(TextIOWrapper(open_bytes(each, "wb"), "utf-8", newline="\n"))
            for each in (path, _said(path))
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
