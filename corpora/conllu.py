"""A strict reader of CoNLL-U: it names the line and column of a fault and changes nothing it reads.

Only a byte order mark and the carriage returns of Windows are dropped. The format:
https://universaldependencies.org/format.html
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from accord.corpora.text import CorpusError, Sentence, TreebankRow, lines


class Token(NamedTuple):
    """One row of a tree, its ten columns as they stand in the file (`_` for an empty one)."""

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


# The form of each column. Forms and lemmas may hold a space inside (`50 000`).
ANY, SPACED = r"\S+", r"\S(?:[^\t]*\S)?"
INTEGER = r"(?:0|[1-9][0-9]*)"
FEATURE = r"[A-Z][A-Za-z0-9]*(?:\[[a-z0-9]+\])?=[A-Z0-9][A-Za-z0-9]*(?:,[A-Z0-9][A-Za-z0-9]*)*"
COLUMNS = {
    "id": (rf"{INTEGER}(?:[-.]{INTEGER})?", "an id such as 8, 8-9 or 8.1"),
    "form": (SPACED, "a form with no space around it"),
    "lemma": (SPACED, "a lemma with no space around it"),
    "upos": (ANY, "a tag without spaces"),
    "xpos": (ANY, "a tag without spaces"),
    "feats": (rf"_|{FEATURE}(?:\|{FEATURE})*", "_ or features such as Gender=Fem|Number=Sing"),
    "head": (rf"_|{INTEGER}", "_ or the id of a word"),
    "deprel": (ANY, "a relation without spaces"),
    "deps": (ANY, "relations without spaces"),
    "misc": (SPACED, "text with no space around it"),
}
ROW = re.compile("\t".join(f"(?:{pattern})" for pattern, _ in COLUMNS.values()))

# A contraction has no analysis of its own, an empty node no place in the basic tree.
BARE_WHEN_CONTRACTED = ("lemma", "upos", "xpos", "head", "deprel", "deps")
BARE_WHEN_EMPTY = ("head", "deprel")


class ConlluError(CorpusError):
    """A fault in a CoNLL-U file, with its place."""

    def __init__(self, path: Path, line: int, fault: str, column: str | None = None):
        place = f"{path}, line {line}"
        if column is not None:
            place += f", column {Token._fields.index(column) + 1} ({column.upper()})"
        super().__init__(f"{place}: {fault}")


def read(path: Path) -> Iterator[Tree]:
    """Yield the trees of a file, compressed or not; the first fault is an error."""
    comments, tokens, begin, number = [], [], 1, 0
    for number, line in enumerate(lines(path), start=1):
        if not line.endswith("\n"):
            raise ConlluError(path, number, "the file ends within a line: expected a blank line")
        row = line[:-1].removesuffix("\r")
        row = row.removeprefix("\ufeff") if number == 1 else row
        if not row:
            if not tokens:
                raise ConlluError(path, number, "a blank line that ends no sentence")
            tree = Tree(tuple(comments), tuple(tokens), begin)
            _check(path, tree)
            yield tree
            comments, tokens, begin = [], [], number + 1
        elif row.startswith("#"):
            if tokens:
                raise ConlluError(path, number, "a comment after the first row of its sentence")
            comments.append(row)
        else:
            tokens.append(_parse(path, number, row))
    if tokens or comments:
        raise ConlluError(path, number + 1, "the blank line that ends the last sentence is missing")


def read_sentences(path: Path, split: str | None = None) -> Iterator[Sentence]:
    """Yield the trees of a file as sentences of a corpus; `# newdoc` begins a document."""
    document = None
    for tree in read(path):
        begun = [line for line in tree.comments if line.startswith(NEW_DOCUMENT)]
        if begun:
            document = begun[0].partition("=")[2].strip() or str(tree.line)
        forms = (token.form for token in tree.tokens)
        rows = tuple(map(TreebankRow, forms, row_kinds(tree.tokens)))
        name = comment(tree, ID_KEYS) or f"{path.name}:{tree.line}"
        yield Sentence(name, tree_text(tree), rows, split, tree_labels(tree), document)


def _parse(path: Path, number: int, row: str) -> Token:
    """Split one row, and check each column by COLUMNS."""
    columns = row.split("\t")
    if len(columns) != len(COLUMNS):
        raise ConlluError(path, number, f"expected 10 tab-separated columns, got {len(columns)}")
    if not ROW.fullmatch(row):
        for value, (name, (pattern, expected)) in zip(columns, COLUMNS.items(), strict=True):
            if not re.fullmatch(pattern, value):
                raise ConlluError(path, number, f"expected {expected}, got {value!r}", name)
    return Token._make(columns)


def _check(path: Path, tree: Tree) -> None:
    """Check a whole sentence: the order of ids, heads that exist, features that stand once."""
    word = empty = last_part = 0
    numbered = list(enumerate(tree.tokens, start=tree.line + len(tree.comments)))
    for number, token in numbered:
        bare: tuple[str, ...] = ()
        if "-" in token.id:
            bare = BARE_WHEN_CONTRACTED
            first, last = map(int, token.id.split("-"))
            if first != word + 1 or last <= first or first <= last_part:
                fault = f"expected a range that begins at {word + 1}, got {token.id}"
                raise ConlluError(path, number, fault, "id")
            last_part = last
        elif "." in token.id:
            bare, empty = BARE_WHEN_EMPTY, empty + 1
            if token.id != f"{word}.{empty}":
                raise ConlluError(path, number, f"expected {word}.{empty}, got {token.id}", "id")
        else:
            word, empty = word + 1, 0
            if token.id != str(word):
                raise ConlluError(path, number, f"expected {word}, got {token.id}", "id")
        for column in bare:
            if (value := getattr(token, column)) != "_":
                fault = f"expected _ in row {token.id}, got {value!r}"
                raise ConlluError(path, number, fault, column)
        if twice := _repeated(token.feats):
            raise ConlluError(path, number, f"the feature {twice} stands twice", "feats")
    if word < last_part:
        fault = f"the sentence ends at word {word}, within a range up to {last_part}"
        raise ConlluError(path, number, fault, "id")
    for number, token in numbered:
        if token.head != "_" and (int(token.head) > word or token.head == token.id):
            fault = f"expected the id of another word, at most {word}, or 0, got {token.head}"
            raise ConlluError(path, number, fault, "head")


@cache
def _repeated(feats: str) -> str | None:
    names = [feature.partition("=")[0] for feature in feats.split("|")]
    return next((name for name in names if names.count(name) > 1), None)


# The keys under which releases 2 and 1 write a sentence's id and text.
ID_KEYS = ("# sent_id =", "# sentid:")
TEXT_KEYS = ("# text =", "# sentence-text:")
NEW_DOCUMENT = "# newdoc"


def row_kinds(tokens: Iterable[Token]) -> Iterator[str]:
    """Yield the kind of each row: word, contracted, part or empty."""
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
    """Return the value of the first of these keys that the comments have."""
    for line in tree.comments:
        for key in keys:
            if line.startswith(key):
                return line.removeprefix(key).strip()
    return None


def tree_labels(tree: Tree) -> tuple[tuple[str, str], ...]:
    """Return the labels in the comments, such as `# genre = news`, without the id and the text."""
    known = tuple(key.rstrip(" =:") for key in (*ID_KEYS, *TEXT_KEYS))
    pairs = (line.partition(" = ") for line in tree.comments if not line.startswith(known))
    return tuple((key[1:].strip(), value.strip()) for key, sign, value in pairs if sign)


def tree_text(tree: Tree) -> str:
    """Return the text in the comments, else that of the surface rows and `SpaceAfter=No`."""
    if text := comment(tree, TEXT_KEYS):
        return text
    pieces = []
    for token, kind in zip(tree.tokens, row_kinds(tree.tokens), strict=True):
        if kind in ("word", "contracted"):
            space = "" if "SpaceAfter=No" in token.misc.split("|") else " "
            pieces.append(token.form + space)
    return "".join(pieces).strip()


def features(feats: str) -> dict[str, str]:
    """Return `Gender=Fem|Number=Sing` as a dictionary."""
    if feats == "_":
        return {}
    return dict(feature.split("=", 1) for feature in feats.split("|"))
