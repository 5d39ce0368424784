"""A strict reader and writer of CoNLL-U: every file that it accepts is written back byte for byte.

Only a byte order mark and the carriage returns of Windows are dropped. The format:
https://universaldependencies.org/format.html
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from accord.corpora.sentence import (
    ID_KEYS,
    Sentence,
    Token,
    Tree,
    TreebankRow,
    begun_document,
    comment,
    row_kinds,
    tree_labels,
    tree_text,
)
from accord.corpora.text import CorpusError, lines, open_bytes

# What each column must look like. Forms and lemmas may hold a space inside (`50 000`).
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
    """The trees of a file, compressed or not; the first fault is an error."""
    comments, tokens, begin, number = [], [], 1, 0
    for number, line in enumerate(lines(path), start=1):
        row = without_end(path, number, line)
        if not row:
            if not tokens:
                raise ConlluError(path, number, "a blank line that ends no sentence")
            tree = Tree(tuple(comments), tuple(tokens), begin)
            check(path, tree)
            yield tree
            comments, tokens, begin = [], [], number + 1
        elif row.startswith("#"):
            if tokens:
                raise ConlluError(path, number, "a comment after the first row of its sentence")
            comments.append(row)
        else:
            tokens.append(parse(path, number, row))
    if tokens or comments:
        raise ConlluError(path, number + 1, "the blank line that ends the last sentence is missing")


def write(trees: Iterable[Tree], path: Path) -> None:
    """Write trees as CoNLL-U, compressed as the name's ending says."""
    with open_bytes(path, "wb") as file:
        for tree in trees:
            rows = [*tree.comments, *("\t".join(token) for token in tree.tokens)]
            file.write(("\n".join(rows) + "\n\n").encode("utf-8"))


def read_sentences(path: Path, split: str | None = None) -> Iterator[Sentence]:
    """The same trees as sentences of a corpus; `# newdoc` begins a document."""
    document = None
    for tree in read(path):
        document = begun_document(tree) or document
        forms = (token.form for token in tree.tokens)
        rows = tuple(map(TreebankRow, forms, row_kinds(tree.tokens)))
        name = comment(tree, ID_KEYS) or f"{path.name}:{tree.line}"
        yield Sentence(name, tree_text(tree), rows, split, tree_labels(tree), document)


def without_end(path: Path, number: int, line: str) -> str:
    """Return the line without its end, and without the byte order mark of a file."""
    if not line.endswith("\n"):
        raise ConlluError(path, number, "the file ends within a line: expected a blank line at end")
    line = line.removeprefix("\ufeff") if number == 1 else line
    return line[:-1].removesuffix("\r")


def parse(path: Path, number: int, row: str) -> Token:
    """One row, each column as COLUMNS expects it."""
    columns = row.split("\t")
    if len(columns) != len(COLUMNS):
        raise ConlluError(path, number, f"expected 10 tab-separated columns, got {len(columns)}")
    if not ROW.fullmatch(row):
        for value, (name, (pattern, expected)) in zip(columns, COLUMNS.items(), strict=True):
            if not re.fullmatch(pattern, value):
                raise ConlluError(path, number, f"expected {expected}, got {value!r}", name)
    return Token._make(columns)


def check(path: Path, tree: Tree) -> None:
    """Check a whole sentence: the order of the ids, heads that exist, features that stand twice."""
    word = empty = last_part = 0
    numbered = list(enumerate(tree.tokens, start=tree.line + len(tree.comments)))
    for number, token in numbered:
        if "-" in token.id:
            first, last = map(int, token.id.split("-"))
            if first != word + 1 or last <= first or first <= last_part:
                fault = f"expected a range that begins at {word + 1}, got {token.id}"
                raise ConlluError(path, number, fault, "id")
            last_part = last
            check_bare(path, number, token, BARE_WHEN_CONTRACTED)
        elif "." in token.id:
            empty += 1
            if token.id != f"{word}.{empty}":
                raise ConlluError(path, number, f"expected {word}.{empty}, got {token.id}", "id")
            check_bare(path, number, token, BARE_WHEN_EMPTY)
        else:
            word, empty = word + 1, 0
            if token.id != str(word):
                raise ConlluError(path, number, f"expected {word}, got {token.id}", "id")
        if twice := said_twice(token.feats):
            raise ConlluError(path, number, f"the feature {twice} stands twice", "feats")
    if word < last_part:
        fault = f"the sentence ends at word {word}, within a range up to {last_part}"
        raise ConlluError(path, number, fault, "id")
    for number, token in numbered:
        if token.head != "_" and (int(token.head) > word or token.head == token.id):
            fault = f"expected the id of another word, at most {word}, or 0, got {token.head}"
            raise ConlluError(path, number, fault, "head")


def check_bare(path: Path, number: int, token: Token, columns: tuple[str, ...]) -> None:
    for column in columns:
        if getattr(token, column) != "_":
            fault = f"expected _ in row {token.id}, got {getattr(token, column)!r}"
            raise ConlluError(path, number, fault, column)


@cache
def said_twice(feats: str) -> str | None:
    names = [feature.partition("=")[0] for feature in feats.split("|")]
    return next((name for name in names if names.count(name) > 1), None)
