"""Letter n-grams, each class's own on top.

Beginnings are the nodes of a tree: 0 is the empty one, and a longer one is known by the node of the
same without its last symbol, and that symbol. Sorted keys, no loop over words.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np

from accord.errors import AccordError
from accord.models.common.files import load_json
from accord.models.data import in_a_row
from accord.models.ngrams import Level, NGramTables, count, discount, kneser_ney_tables
from accord.models.spelling.spelling import (
    NGRAM,
    STOP,
    Alphabet,
    Spelling,
    as_text,
    numbers,
)


class Continuations(NamedTuple):
    """The symbols that followed beginnings in words of some classes, for each of some strings."""

    string: np.ndarray
    kind: np.ndarray  # the class
    total: np.ndarray  # how many of its words begin so
    different: np.ndarray  # how many symbols followed in them
    seen: np.ndarray  # how many go on as the string does


class Prefixes:
    """n_s(hc): how many words of class s begin with h and go on with c."""

    def __init__(
        self,
        children: np.ndarray,
        entries: np.ndarray,
        counts: np.ndarray,
        symbols: int,
        classes: int,
    ):
        """`children`: (node, symbol) of the nodes from 1 on; `entries`: (node, class, symbol)."""
        self.children, self.entries, self.counts = children, entries, counts
        self.symbols, self.classes = symbols, classes
        groups = entries // symbols  # (node, class)
        self.starts = np.flatnonzero(np.diff(groups, prepend=-1))
        self.different = np.diff(self.starts, append=len(entries))
        self.total = np.add.reduceat(counts, self.starts)
        node, self.kind = np.divmod(groups[self.starts], classes)
        self.of_node = np.searchsorted(node, np.arange(len(children) + 2))

    @classmethod
    def count(
        cls,
        words: Sequence[Sequence[int]],
        kinds: np.ndarray,
        depth: int,
        symbols: int,
        classes: int,
    ) -> "Prefixes":
        """Of the first `depth` symbols of each word."""
        lengths = np.array([min(len(word), depth) for word in words])
        letters = np.array([symbol for word in words for symbol in word[:depth]], np.int64)
        starts, kinds = np.cumsum(lengths) - lengths, np.asarray(kinds, np.int64)
        node, word, first = np.zeros(len(words), np.int64), np.arange(len(words)), 1
        children, entries = [], []
        for place in range(depth):
            on = lengths[word] > place
            node, word = node[on], word[on]
            symbol = letters[starts[word] + place]
            entries.append((node * classes + kinds[word]) * symbols + symbol)
            on = lengths[word] > place + 1
            word = word[on]
            keys, node = np.unique(node[on] * symbols + symbol[on], return_inverse=True)
            node, first = node + first, first + len(keys)
            children.append(keys)
        keys, counts = np.unique(np.concatenate(entries), return_counts=True)
        return cls(np.concatenate(children), keys, counts, symbols, classes)

    def child(self, node: np.ndarray, symbol: np.ndarray) -> np.ndarray:
        """The node of each beginning with one more symbol, −1 where no word begins so."""
        at = _find(self.children, node * self.symbols + symbol)
        return np.where(node >= 0, np.where(at >= 0, at + 1, -1), -1)

    def followed(self, node: np.ndarray, symbol: np.ndarray) -> Continuations:
        """The symbols that followed the beginnings of strings, and how often the right one did."""
        sizes = self.of_node[node + 1] - self.of_node[node]
        group = in_a_row(self.of_node[node], sizes)
        string = np.repeat(np.arange(len(node)), sizes)
        wanted = (node[string] * self.classes + self.kind[group]) * self.symbols + symbol[string]
        at = _find(self.entries, wanted)
        seen = np.where(at >= 0, self.counts[at], 0)
        kind, total, different = self.kind[group], self.total[group], self.different[group]
        return Continuations(string, kind, total, different, seen)

    def after(self, node: int, kind: int) -> np.ndarray | None:
        """How often each symbol followed one beginning in words of one class; None if none did."""
        first = (node * self.classes + kind) * self.symbols
        start, end = np.searchsorted(self.entries, [first, first + self.symbols])
        if node < 0 or start == end:
            return None
        return np.bincount(self.entries[start:end] - first, self.counts[start:end], self.symbols)


def _find(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The position of each among sorted keys, −1 if it is missing."""
    if not len(keys):
        return np.full(len(wanted), -1)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, at, -1)


MOST = 100_000  # classes that a file may claim; each takes room in every score


class LearnedFrom(TypedDict):
    """The words that a model was learned from, the class of each, and its order."""

    words: list[str]
    classes: list[int]
    order: int


class NGramSpelling(Spelling):
    """letters(u | s) = Π p(c | s, h) over the letters of u, the last one first, and STOP.

        p(c | s, h) = max(n_s(hc) − D, 0) / n_s(h) + D·t_s(h)/n_s(h) · p(c | h)

    h is all that was written so far, n_s(hc) how many words of class s begin with hc in this
    order, t_s(h) how many letters follow h in them; p(c | h) is the n-gram model of all classes,
    and stands alone where class s has no word that begins with h or h is as long as the order.
    """

    file = NGRAM
    made_of: LearnedFrom  # where it was learned, and not loaded from a compact model

    def __init__(
        self,
        alphabet: Alphabet,
        shares: np.ndarray,
        length: float,
        levels: Sequence[Level],
        begun: Prefixes,
    ):
        super().__init__(alphabet, shares, length)
        self.levels, self.begun = levels, begun
        tables = kneser_ney_tables(levels, np.full(len(alphabet), 1 / len(alphabet)))
        self.ngrams = NGramTables(tables, len(alphabet))
        self.discount = discount(begun.counts)
        self.not_empty = np.zeros(self.classes)
        self.not_empty = np.log1p(-np.exp(self.sequences([[STOP]])[0]))

    @classmethod
    def learn(
        cls, words: Sequence[str], classes: Sequence[int], count_classes: int, order: int
    ) -> "NGramSpelling":
        alphabet = Alphabet.of(words)
        symbols = [[*alphabet.symbols(word), STOP] for word in words]
        reach = min(order, max(map(len, symbols)) + 1)
        model = cls(
            alphabet,
            *numbers(words, classes, count_classes),
            count(as_text(symbols), reach, len(alphabet)),
            Prefixes.count(symbols, np.asarray(classes), reach, len(alphabet), count_classes),
        )
        model.made_of = {"words": list(words), "classes": list(map(int, classes)), "order": order}
        return model

    def with_words(self, words: Sequence[str], classes: Sequence[int]) -> "NGramSpelling":
        """The same learned from more words."""
        made_of, order = self.made_of, self.made_of["order"]
        words, classes = [*made_of["words"], *words], [*made_of["classes"], *classes]
        return NGramSpelling.learn(words, classes, self.classes, order)

    def sequences(self, sequences: Sequence[Sequence[int]]) -> np.ndarray:
        sentences = as_text(sequences)
        shared = np.exp(self.ngrams.score(sentences))
        ends = np.cumsum(sentences.lengths)
        starts = ends - sentences.lengths
        result = np.add.reduceat(np.log(shared), starts)[:, None] - self.not_empty
        rows, node = np.arange(len(sequences)), np.zeros(len(sequences), np.int64)
        for place in range(int(sentences.lengths.max())):
            on = (node >= 0) & (sentences.lengths[rows] > place)
            rows, node = rows[on], node[on]
            if not len(rows):
                break
            symbol, p = (each[starts[rows] + place] for each in (sentences.ids, shared))
            after = self.begun.followed(node, symbol)
            p = p[after.string]
            own = self.of_class(after.seen, after.total, after.different, p)
            result[rows[after.string], after.kind] += np.log(own / p)
            node = self.begun.child(node, symbol)
        return result

    def of_class(self, seen, total, different, shared):
        """p(c | s, h) of letters, from how often each was seen next and from p(c | h)."""
        own = np.maximum(seen - self.discount, 0) / total
        return own + self.discount * different / total * shared

    def draw_symbols(self, classes: np.ndarray, generator: np.random.Generator) -> list[list[int]]:
        drawn: list[list[int]] = [[] for _ in classes]
        reach = self.ngrams.order - 1
        context = np.full((len(classes), reach), -1)
        context[:, -1:] = STOP  # a word's start, as a sentence's
        writing, begun = np.arange(len(classes)), np.zeros(len(classes), np.int64)
        while len(writing):
            shared = self.ngrams.distributions(self.ngrams.nodes(context[writing]))
            for row, p in zip(writing, shared, strict=True):
                seen = self.begun.after(begun[row], classes[row])
                if seen is not None:
                    p = self.of_class(seen, seen.sum(), np.count_nonzero(seen), p)
                if not drawn[row]:
                    p[STOP] = 0
                drawn[row].append(int(generator.choice(len(p), p=p / p.sum())))
            last = np.array([drawn[row][-1] for row in writing])
            context[writing] = np.column_stack([context[writing][:, 1:], last])
            begun[writing] = self.begun.child(begun[writing], last)
            writing = writing[last != STOP]
        return [symbols[:-1] for symbols in drawn]

    def save(self, path: Path) -> None:
        """The words are saved, not the counts: these are quickly computed again."""
        about = {"count_classes": self.classes, **self.made_of}
        path.write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "NGramSpelling":
        about = load_json(path, dict)
        words, classes = (about.get(name) for name in ("words", "classes"))
        numbers_of = [about.get("count_classes"), about.get("order")]
        if not (
            about.keys() == {"count_classes", "words", "classes", "order"}
            and isinstance(words, list)
            and isinstance(classes, list)
            and 0 < len(words) == len(classes)
            and all(isinstance(word, str) and word for word in words)
            and all(type(number) is int and 0 < number <= MOST for number in numbers_of)
            and all(type(kind) is int and 0 <= kind < about["count_classes"] for kind in classes)
        ):
            raise AccordError(
                f"{path}: expected words, the class of each among at most {MOST:,}, and an order"
            )
        return cls.learn(**about)
