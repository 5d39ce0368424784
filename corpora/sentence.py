"""A sentence of a corpus, which of its rows are words, and the tree of a treebank."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from accord.errors import AccordError


class TreebankRow(NamedTuple):
    """One row of a treebank sentence."""

    form: str
    kind: str  # word, contracted, part or empty: `des` is contracted, `de` and `les` its parts


class Sentence(NamedTuple):
    """Text with, where a treebank fixed them, its words.

    `rows` is None for raw text, whose words the tokeniser makes. `split` is the source's own name
    for the part the sentence belongs to, or None where the pipeline is to split. `labels` are what
    the source says about the sentence, as pairs: `("genre", "news")`. `document` names what the
    sentence is from: an article, a headword, a file. Readers of files leave it None where all of
    the file is one document.
    """

    id: str
    text: str
    rows: tuple[TreebankRow, ...] | None = None
    split: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    document: str | None = None


class Unwanted(NamedTuple):
    """A text that a reader leaves out of its corpus, and why."""

    reason: str


# Which kinds of rows are words.
VIEWS = {
    "surface": frozenset({"word", "contracted"}),
    "syntactic": frozenset({"word", "part"}),
    "rows": frozenset({"word", "contracted", "part"}),
}


def words(rows: Iterable[tuple[str, str]], view: str) -> list[str]:
    """The forms of a treebank sentence that `view` (a key of VIEWS) counts as words."""
    if view not in VIEWS:
        raise AccordError(f"unknown view {view!r}: expected one of {', '.join(VIEWS)}")
    chosen = VIEWS[view]
    return [form for form, kind in rows if kind in chosen]


class Token(NamedTuple):
    """One row of a tree, its ten columns as they stand in the file (`_` where nothing stands)."""

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
    """A treebank's sentence: its comments, its rows, and the line of the file it begins on."""

    comments: tuple[str, ...]
    tokens: tuple[Token, ...]
    line: int


# The keys under which releases 2 and 1 write a sentence's id and text.
ID_KEYS = ("# sent_id =", "# sentid:")
TEXT_KEYS = ("# text =", "# sentence-text:")
NEW_DOCUMENT = "# newdoc"


def row_kinds(tokens: Iterable[Token]) -> Iterator[str]:
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
    """The value of the first of these keys that the comments have."""
    for line in tree.comments:
        for key in keys:
            if line.startswith(key):
                return line.removeprefix(key).strip()
    return None


def begun_document(tree: Tree) -> str | None:
    """The document that begins with this sentence: `# newdoc id = n01`, else its line's number."""
    for line in tree.comments:
        if line.startswith(NEW_DOCUMENT):
            return line.partition("=")[2].strip() or str(tree.line)
    return None


def tree_labels(tree: Tree) -> tuple[tuple[str, str], ...]:
    """The labels in the comments, such as `# genre = news`, without the id and the text."""
    known = tuple(key.rstrip(" =:") for key in (*ID_KEYS, *TEXT_KEYS))
    said = (line.partition(" = ") for line in tree.comments if not line.startswith(known))
    return tuple(
        (name.removeprefix("#").strip(), value.strip()) for name, sign, value in said if sign
    )


def tree_text(tree: Tree) -> str:
    """The text in the comments, else as the surface rows and `SpaceAfter=No` give it."""
    if found := comment(tree, TEXT_KEYS):
        return found
    pieces = []
    for token, kind in zip(tree.tokens, row_kinds(tree.tokens), strict=True):
        if kind in ("word", "contracted"):
            space = "" if "SpaceAfter=No" in token.misc.split("|") else " "
            pieces.append(token.form + space)
    return "".join(pieces).strip()


def features(feats: str) -> dict[str, str]:
    """`Gender=Fem|Number=Sing` as a dictionary."""
    if feats == "_":
        return {}
    return dict(feature.split("=", 1) for feature in feats.split("|"))
