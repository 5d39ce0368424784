"""Letter n-grams, each class's own on top.

Beginnings are the nodes of a tree: 0 is the empty one, and a longer one is known by the node of the
same without its last symbol, and that symbol. Sorted keys, no loop over words.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from accord.errors import AccordError
from accord.models.common.arrays import load_arrays, narrow, save_arrays
from accord.models.common.checks import check_range
from accord.models.data import in_a_row
from accord.models.ngrams import Level, NGramTables, count, discount, find, kneser_ney_tables
from accord.models.spelling.spelling import NGRAM, STOP, Alphabet, Spelling, as_text, numbers

ARRAYS = (  # of a file
    *("alphabet", "shares", "length", "level_contexts", "level_keys"),
    *("contexts", "keys", "counts", "children", "entries", "begun"),
)


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
        """Count the first `depth` symbols of each word."""
        lengths = np.array([min(len(word), depth) for word in words])
        letters = np.array([symbol for word in words for symbol in word[:depth]], np.int64)
        starts, kinds = np.cumsum(lengths) - lengths, np.asarray(kinds, np.int64)
        node, word, first = np.zeros(len(words), np.int64), np.arange(len(words)), 1
        children, entries = [], []
        for place in range(depth):
            continues = lengths[word] > place
            node, word = node[continues], word[continues]
            symbol = letters[starts[word] + place]
            entries.append((node * classes + kinds[word]) * symbols + symbol)
            continues = lengths[word] > place + 1
            word = word[continues]
            keys, node = np.unique(
                node[continues] * symbols + symbol[continues], return_inverse=True
            )
            node, first = node + first, first + len(keys)
            children.append(keys)
        keys, counts = np.unique(np.concatenate(entries), return_counts=True)
        return cls(np.concatenate(children), keys, counts, symbols, classes)

    def child(self, node: np.ndarray, symbol: np.ndarray) -> np.ndarray:
        """Return the node of each beginning with one more symbol, −1 where no word begins so."""
        place = find(self.children, node, symbol, self.symbols)
        return np.where(place >= 0, place + 1, -1)

    def followed(self, node: np.ndarray, symbol: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return counts of the beginnings of strings, an entry for each string and class.

        Each entry has the string, the class, how many of its words begin so, how many different
        symbols followed in these, and how many of them go on with the string's symbol.
        """
        sizes = self.of_node[node + 1] - self.of_node[node]
        group = in_a_row(self.of_node[node], sizes)
        string, kind = np.repeat(np.arange(len(node)), sizes), self.kind[group]
        place = find(self.entries, node[string] * self.classes + kind, symbol[string], self.symbols)
        seen = np.where(place >= 0, self.counts[place], 0)
        return string, kind, self.total[group], self.different[group], seen

    def counts_after(self, node: int, kind: int) -> np.ndarray | None:
        """Return the count of each symbol after a beginning in words of a class; None if none."""
        first = (node * self.classes + kind) * self.symbols
        start, end = np.searchsorted(self.entries, [first, first + self.symbols])
        if node < 0 or start == end:
            return None
        return np.bincount(self.entries[start:end] - first, self.counts[start:end], self.symbols)


class NGramSpelling(Spelling):
    """letters(u | s) = Π p(c | s, h) over the letters of u, the last one first, and STOP.

        p(c | s, h) = max(n_s(hc) − D, 0) / n_s(h) + D·t_s(h)/n_s(h) · p(c | h)

    h is all that was written so far, n_s(hc) how many words of class s begin with hc in this
    order, t_s(h) how many letters follow h in them; p(c | h) is the n-gram model of all classes,
    and stands alone where class s has no word that begins with h or h is as long as the order.
    """

    file = NGRAM

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
        alphabet = Alphabet.of_words(words)
        symbols = [[*alphabet.symbols(word), STOP] for word in words]
        reach = min(order, max(map(len, symbols)) + 1)
        return cls(
            alphabet,
            *numbers(words, classes, count_classes),
            count(as_text(symbols), reach, len(alphabet)),
            Prefixes.count(symbols, np.asarray(classes), reach, len(alphabet), count_classes),
        )

    def sequences(self, sequences: Sequence[Sequence[int]]) -> np.ndarray:
        sentences = as_text(sequences)
        shared = np.exp(self.ngrams.score(sentences))
        ends = np.cumsum(sentences.lengths)
        starts = ends - sentences.lengths
        result = np.add.reduceat(np.log(shared), starts)[:, None] - self.not_empty
        rows, node = np.arange(len(sequences)), np.zeros(len(sequences), np.int64)
        for place in range(int(sentences.lengths.max())):
            continues = (node >= 0) & (sentences.lengths[rows] > place)
            rows, node = rows[continues], node[continues]
            if not len(rows):
                break
            symbol, p = (of_symbols[starts[rows] + place] for of_symbols in (sentences.ids, shared))
            string, kind, total, different, seen = self.begun.followed(node, symbol)
            p = p[string]
            result[rows[string], kind] += np.log(self.of_class(seen, total, different, p) / p)
            node = self.begun.child(node, symbol)
        return result

    def of_class(self, seen, total, different, shared):
        """Return p(c | s, h) of letters, from their counts after h and from p(c | h)."""
        counted = np.maximum(seen - self.discount, 0) / total
        return counted + self.discount * different / total * shared

    def draw_symbols(self, classes: np.ndarray, generator: np.random.Generator) -> list[list[int]]:
        drawn: list[list[int]] = [[] for _ in classes]
        reach = self.ngrams.order - 1
        context = np.full((len(classes), reach), -1)
        context[:, -1:] = STOP  # a word's start, as a sentence's
        writing, begun = np.arange(len(classes)), np.zeros(len(classes), np.int64)
        while len(writing):
            shared = self.ngrams.distributions(self.ngrams.nodes(context[writing]))
            for row, p in zip(writing, shared, strict=True):
                seen = self.begun.counts_after(begun[row], classes[row])
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
        """Write the counts: rising numbers as their differences, packed."""
        levels, begun = self.levels, self.begun
        arrays = {
            "alphabet": np.frombuffer("".join(self.alphabet.letters).encode(), np.uint8),
            "shares": self.numbers,
            "length": np.array(self.length),
            "level_contexts": np.array([len(level.contexts) for level in levels]),
            "level_keys": np.array([len(level.keys) for level in levels]),
            "contexts": _differences([level.contexts for level in levels]),
            "keys": _differences([level.keys for level in levels]),
            "counts": narrow(np.concatenate([level.counts for level in levels])),
            "children": _differences([begun.children]),
            "entries": _differences([begun.entries]),
            "begun": narrow(begun.counts),
        }
        save_arrays(path, arrays, packed=True)

    @classmethod
    def load(cls, path: Path) -> "NGramSpelling":
        """Read a file of `save`, checking every count."""
        arrays = load_arrays(path, ARRAYS)
        try:
            return _from_arrays(arrays)
        except (ValueError, TypeError, IndexError, UnicodeError) as error:
            raise AccordError(f"{path}: {error}") from None


def _differences(rising: list[np.ndarray]) -> np.ndarray:
    """Return rising numbers as differences from the number before."""
    return narrow(np.concatenate([np.diff(numbers, prepend=0) for numbers in rising]))


def _from_arrays(arrays: dict[str, np.ndarray]) -> NGramSpelling:
    alphabet = Alphabet(list(arrays["alphabet"].tobytes().decode()))
    symbols, shares = len(alphabet), arrays["shares"].astype(np.float64)
    length = float(arrays["length"])
    if not (len(shares) and ((shares >= 0) & (shares < 1)).all() and 1 <= length < np.inf):
        raise AccordError("expected a share of numbers for each class, and their mean length")
    of_level = {
        "contexts": np.cumsum(arrays["level_contexts"])[:-1],
        "keys": np.cumsum(arrays["level_keys"])[:-1],
        "counts": np.cumsum(arrays["level_keys"])[:-1],
    }
    parts = [np.split(arrays[name], ends) for name, ends in of_level.items()]
    levels: list[Level] = []
    for contexts, keys, counts in zip(*parts, strict=True):
        contexts, keys = (np.cumsum(steps, dtype=np.int64) for steps in (contexts, keys))
        levels.append(_level(contexts, keys, counts.astype(np.int64), symbols, levels))
    children, entries = (np.cumsum(arrays[n], dtype=np.int64) for n in ("children", "entries"))
    counts = arrays["begun"].astype(np.int64)
    check_range("children", "nodes", children // symbols, 0, len(children) + 1)
    check_range("entries", "nodes", entries // symbols // len(shares), 0, len(children) + 1)
    if len(counts) != len(entries) or not len(counts) or counts.min() < 1:
        raise AccordError(f"begun: expected {len(entries):,} counts from 1 on")
    begun = Prefixes(children, entries, counts, symbols, len(shares))
    return NGramSpelling(alphabet, shares, length, levels, begun)


def _level(
    contexts: np.ndarray, keys: np.ndarray, counts: np.ndarray, symbols: int, below: list[Level]
) -> Level:
    """Return the level above the levels `below`."""
    if len(counts) != len(keys) or not len(keys) or counts.min() < (1 if below else 0):
        raise AccordError(f"counts: expected {len(keys):,} counts of n-grams")
    check_range("keys", "contexts", keys // symbols, 0, len(contexts))
    if not below:
        if not np.array_equal(keys, np.arange(symbols)):
            raise AccordError(f"keys: expected all of the {symbols} symbols after nothing")
        return Level(contexts, keys, counts, np.zeros(0, np.int64), symbols)
    check_range("contexts", "contexts", contexts // symbols, 0, len(below[-1].contexts))
    wanted = contexts[keys // symbols] // symbols * symbols + keys % symbols
    shorter = np.searchsorted(below[-1].keys, wanted)
    check_range("keys", "n-grams", shorter, 0, len(below[-1].keys))
    return Level(contexts, keys, counts, shorter, symbols)
