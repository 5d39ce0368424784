"""A sentence of a treebank with all its columns."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Token(NamedTuple):
    """One row, its ten columns as they stand in the file (`_` where nothing stands)."""

    id: str
    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str
    head: str
    deprel: str
    deps: str
    misc: str


class Tree(NamedTuple):
    """One sentence: its comment lines, its rows, and the line of the file it begins on."""

    comments: tuple[str, ...]
    tokens: tuple[Token, ...]
    line: int


# The keys under which releases 2 and 1 write a sentence's id and text.
ID_KEYS = ("# sent_id =", "# sentid:")
TEXT_KEYS = ("# text =", "# sentence-text:")


def kinds(tokens: Iterable[Token]) -> Iterator[str]:
    """The kind of each row: word, contracted, part or empty."""
    last_part = 0
    for token in tokens:
        if "-" in token.id:
            last_part = int(token.id.partition("-")[2])
            yield "contracted"
        elif "." in token.id:
            yield "empty"
        else:
            yield "part" if int(token.id) <= last_part else "word"


def comment(tree: Tree, keys: tuple[str, ...]) -> str | None:
    """What stands after the first of these keys among the comments."""
    for line in tree.comments:
        for key in keys:
            if line.startswith(key):
                return line.removeprefix(key).strip()
    return None


def labels(tree: Tree) -> tuple[tuple[str, str], ...]:
    """What the comments say of the sentence, `# genre = news`, but for its id and text."""
    known = tuple(key.rstrip(" =:") for key in (*ID_KEYS, *TEXT_KEYS))
    said = (line.partition(" = ") for line in tree.comments if not line.startswith(known))
    return tuple(
        (name.removeprefix("#").strip(), value.strip()) for name, sign, value in said if sign
    )


def text(tree: Tree) -> str:
    """The text in the comments, else as the surface rows and `SpaceAfter=No` give it."""
    if found := comment(tree, TEXT_KEYS):
        return found
    pieces = []
    for token, kind in zip(tree.tokens, kinds(tree.tokens), strict=True):
        if kind in ("word", "contracted"):
            space = "" if "SpaceAfter=No" in token.misc.split("|") else " "
            pieces.append(token.form + space)
    return "".join(pieces).strip()


def features(feats: str) -> dict[str, str]:
    """`Gender=Fem|Number=Sing` as a dictionary."""
    if feats == "_":
        return {}
    return dict(feature.split("=", 1) for feature in feats.split("|"))
