"""Trees written as CoNLL-U."""

from collections.abc import Iterable
from pathlib import Path

from accord.corpora.conllu import Tree
from accord.corpora.text import open_bytes


def write(trees: Iterable[Tree], path: Path) -> None:
    """Write trees, compressed if the name's ending says so."""
    with open_bytes(path, "wb") as file:
        for tree in trees:
            rows = [*tree.comments, *("\t".join(token) for token in tree.tokens)]
            file.write(("\n".join(rows) + "\n\n").encode("utf-8"))
