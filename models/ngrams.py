"""Counts of words and n-grams, masses from counts, Kneser-Ney; in numpy alone.

A context is a node: the empty context is node 0, and a longer one is known by the node of the
same context without its oldest word, and that word. An n-gram is then its context's node and the
word after it. Both pairs are packed into one number, `pack`, and looked up in a sorted array.

A sentence's start is END as the oldest word of a context, once: no n-gram reaches beyond it.

A context may also consist of other things than the last words, such as their classes or some of
them only: a *history* returns it, as columns of numbers below that of the words.

    p(w | h) = p of the table where hw is listed, else γ(h)·p(w | h′);   γ(h) = 1 if h is not listed

h′ is h without its oldest word. All words are listed after the empty context.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from accord.models.common.checks import check_each, check_range, expect
from accord.models.data import END, Sentences, preceding

if TYPE_CHECKING:
    from torch import Tensor

# From a text to the history of each of its words, in columns. Backing off drops the last column
# first. END stands for the sentence start, NOTHING for no word.
History = Callable[[Sentences], Iterable[np.ndarray]]
NOTHING = -1


@dataclass(frozen=True, eq=False)
class Level:
    """The n-grams with contexts of one length, by rising key."""

    contexts: np.ndarray  # of each node: (node of the context without its oldest word, that word)
    keys: np.ndarray  # of each n-gram: (node of its context, word)
    counts: np.ndarray  # of each n-gram; after the empty context all words are listed
    shorter: np.ndarray  # place in the level below of each n-gram without its oldest word
    words: int

    @property
    def nodes(self) -> np.ndarray:
        """Return the node of each n-gram's context."""
        return self.keys // self.words

    @property
    def at_start(self) -> np.ndarray:
        """Return whether each n-gram begins with the sentence's start."""
        return (self.contexts % self.words == END)[self.nodes]


def pack(node: np.ndarray, word: np.ndarray, words: int) -> np.ndarray:
    """Return one number for each pair; pairs are in the order of their numbers."""
    return node * words + word


def count(sentences: Sentences, order: int, words: int) -> list[Level]:
    """Count the n-grams up to an order, by the length of their contexts: 0 to order − 1."""
    check_text(sentences, order, words)
    return count_after(sentences.ids, last_words(sentences, order - 1), words)


def last_words(sentences: Sentences, reach: int) -> Iterator[np.ndarray]:
    """Yield the history of plain n-grams: the last word before each word, the last but one…"""
    positions, offset = np.arange(len(sentences.ids)), sentences.offsets
    for back in range(1, reach + 1):
        word = sentences.ids[np.maximum(positions - back, 0)].astype(np.int64)
        yield np.where(offset >= back, word, np.where(offset == back - 1, END, NOTHING))


def count_after(ids: np.ndarray, columns: Iterable[np.ndarray], words: int) -> list[Level]:
    """Count the words of a text after contexts of no column, of one column, … of all columns."""
    ids = ids.astype(np.int64)
    counts = np.bincount(ids, minlength=words)
    empty = np.zeros(0, np.int64)
    levels = [Level(np.zeros(1, np.int64), np.arange(words), counts, empty, words)]
    positions, node = np.arange(len(ids)), np.zeros(len(ids), np.int64)
    for column in columns:
        is_listed = column[positions] != NOTHING
        positions, node = positions[is_listed], node[is_listed]
        expected = f"a text with contexts of {len(levels)} parts"
        expect("order", len(positions) > 0, expected, "none")
        keys = pack(node, column[positions], words)
        contexts, node = np.unique(keys, return_inverse=True)
        keys, counts = np.unique(pack(node, ids[positions], words), return_counts=True)
        below = pack(contexts[keys // words] // words, keys % words, words)
        shorter = np.searchsorted(levels[-1].keys, below)
        levels.append(Level(contexts, keys, counts, shorter, words))
    return levels


def check_text(sentences: Sentences, order: int, words: int) -> None:
    """Validate a text and an order for counting."""
    expect("order", order >= 1, "1 or more", order)
    expect("sentences", len(sentences.ids) > 0, "text to count", "none")
    longest = int(sentences.lengths.max()) + 1
    expected = f"at most {longest}, the longest sentence with its start"
    expect("order", order <= longest, expected, order)
    check_range("sentences", "word ids", sentences.ids, 0, words)
    last = sentences.ids[np.cumsum(sentences.lengths) - 1]
    check_each("sentences", last == END, f"END, {END}, to close each", last)


Numbers = TypeVar("Numbers", np.ndarray, "Tensor")


class Table(NamedTuple, Generic[Numbers]):
    """The n-grams with contexts of one length, keys as in `Level`."""

    contexts: Numbers  # key of each node, rising
    keys: Numbers  # key of each n-gram, rising
    p: Numbers  # p(w | h) of each n-gram
    backoff: Numbers  # γ(h) of each node


Tables = list[Table[np.ndarray]]  # by the length of their contexts, from 0


def interpolated_tables(levels: Sequence[Level], weights: Callable, base: np.ndarray) -> Tables:
    """Return the tables of p(w | h) = a(hw) + γ(h)·p(w | h′); `weights` returns a and γ."""
    tables: Tables = []
    below = base
    for number, level in enumerate(levels):
        a, backoff = weights(number)
        p = a + backoff[level.nodes] * (below[level.shorter] if number else below)
        tables.append(Table(level.contexts, level.keys, p, backoff))
        below = p
    return tables


def kneser_ney_tables(levels: Sequence[Level], base: np.ndarray) -> Tables:
    """Estimate modified Kneser-Ney, interpolated (Chen & Goodman 1998), as KenLM does.

        a(hw) = (c(hw) − D(c(hw))) / c(h),    γ(h) = Σ_w D(c(hw)) / c(h)

    c counts occurrences at the highest order and for n-grams that begin a sentence. For all others
    it counts the different words to the left of the n-gram.
    """

    def weights(number: int) -> tuple[np.ndarray, np.ndarray]:
        level = levels[number]
        c = level.counts
        if level is not levels[-1]:
            different = np.bincount(levels[number + 1].shorter, minlength=len(level.keys))
            c = np.where(level.at_start, c, different) if number else different
        lost = discounts(c)[np.minimum(c, 3)]
        total = np.bincount(level.nodes, c)
        return (c - lost) / total[level.nodes], np.bincount(level.nodes, lost) / total

    return interpolated_tables(levels, weights, base)


def discounts(counts: np.ndarray) -> np.ndarray:
    """Return the discounts of n-grams with counts 0, 1, 2, and 3 or more.

    D_k = k − (k + 1)·Y·n_{k+1}/n_k with Y = n₁/(n₁ + 2n₂), n_k n-grams having the count k. A text
    that is too small for this has KenLM's fallback, half of k.
    """
    n = np.bincount(np.minimum(counts, 5), minlength=6)[:5].astype(np.float64)
    k = np.arange(1, 4)
    if n[1:].all():
        estimates = k - (k + 1) * n[1] / (n[1] + 2 * n[2]) * n[2:] / n[1:4]
        if ((estimates >= 0) & (estimates <= k)).all():
            return np.concatenate(([0], estimates))
    return np.arange(4) / 2


def library(array: Any) -> Any:
    """Return numpy or torch, whose array it is."""
    return np if isinstance(array, np.ndarray) else sys.modules["torch"]


def find(keys: Any, node: Any, word: Any, words: int) -> Any:
    """Return the place of each pair among sorted keys; −1 if it is missing or has a negative part.

    A model may have no contexts of some length, hence no keys.
    """
    wanted, arrays = pack(node, word, words), library(keys)
    if not len(keys):
        return arrays.full_like(wanted, -1)
    place = arrays.searchsorted(keys, wanted).clip(max=len(keys) - 1)
    return arrays.where((keys[place] == wanted) & (node >= 0) & (word >= 0), place, -1)


class Backoff:
    """Queries of an n-gram model, whose tables are in numpy or in torch."""

    tables: Any
    words: int

    def nodes(self, context: Any, root: Any = None) -> list[Any]:
        """Return the node of each context's last 0, 1, 2… words, −1 where they are not listed.

        Negative numbers stand for no word. The sentence start ends a context: no listed context
        goes beyond it.
        """
        zeros = context[:, :0].sum(1)
        nodes = [zeros if root is None else root]
        for length, table in enumerate(self.tables[1:], start=1):
            oldest = context[:, -length] if length <= context.shape[1] else zeros + NOTHING
            nodes.append(find(table.contexts, nodes[-1], oldest, self.words))
        return nodes

    def p(self, nodes: Sequence[Any], words: Any) -> Any:
        """Return p(w | h) of words, each with its context, given by the nodes of its suffixes.

        Nodes (N × 1) are those of all words of a row (N × M).
        """
        p, where = self.tables[0].p[nodes[0] * self.words + words], library(words).where
        for table, node in zip(self.tables[1:], nodes[1:], strict=False):
            place = find(table.keys, node, words, self.words)
            backoff = where(node >= 0, table.backoff[node], 1)
            p = where(place >= 0, table.p[place], backoff * p)
        return p


class NGramTables(Backoff):
    """An n-gram model in numpy; `NGrams` is the same in torch."""

    def __init__(self, tables: Tables, words: int):
        self.tables, self.words, self.order = tables, words, len(tables)

    def score(self, sentences: Sentences) -> np.ndarray:
        """Return log p of every word of every sentence in order, END included, in nats."""
        nodes = self.nodes(preceding(sentences, self.order - 1, END))
        with np.errstate(divide="ignore"):  # a model of a file may find words impossible
            return np.log(self.p(nodes, sentences.ids.astype(np.int64)))

    def context_words(self) -> list[np.ndarray]:
        """Return the words of each node's context, the oldest first: (nodes × length) by length."""
        rows = [np.zeros((len(self.tables[0].contexts), 0), np.int64)]
        for table in self.tables[1:]:
            node, oldest = np.divmod(table.contexts, self.words)
            rows.append(np.column_stack([oldest, rows[-1][node]]))
        return rows

    def restricted(self, context: np.ndarray) -> "NGramTables":
        """Return the model without the contexts of which no suffix of these contexts is one."""
        tables, is_kept, number = [self.tables[0]], np.ones(1, bool), np.zeros(1, np.int64)
        for table, used in zip(self.tables[1:], self.nodes(context)[1:], strict=True):
            shorter = number
            is_kept = np.zeros(len(table.contexts), bool)
            is_kept[used[used >= 0]] = True
            number = np.cumsum(is_kept) - 1
            parent, oldest = np.divmod(table.contexts[is_kept], self.words)
            node, word = np.divmod(table.keys, self.words)
            is_listed = is_kept[node]
            contexts = pack(shorter[parent], oldest, self.words)
            keys = pack(number[node[is_listed]], word[is_listed], self.words)
            tables.append(Table(contexts, keys, table.p[is_listed], table.backoff[is_kept]))
        return NGramTables(tables, self.words)


def discount(counts: np.ndarray) -> float:
    """Return the discount D, from the numbers of words seen once and twice (Ney et al. 1994)."""
    once, twice = np.sum(counts == 1), np.sum(counts == 2)
    return float(once / (once + 2 * twice)) if once and twice else 0.5


def checked_mass(masses: ArrayLike, words: int) -> np.ndarray:
    """Return the masses of words in double precision."""
    mass = np.asarray(masses, dtype=np.float64)
    is_one_each = mass.shape == (words,)
    expect("mass", is_one_each, f"{words} numbers, one per word", f"shape {mass.shape}")
    check_each("mass", np.isfinite(mass) & (mass >= 0), "finite numbers ≥ 0", mass)
    expect("mass", bool(mass.any()), "a positive sum", f"{words} zeros")
    return mass


def log_sums(mass: np.ndarray, group: np.ndarray, groups: int) -> np.ndarray:
    """Return log Σ mass of each group, relative to its heaviest word: 1e-300 and 1e300 survive."""
    heaviest = np.zeros(groups)
    np.maximum.at(heaviest, group, mass)
    of_word = heaviest[group]
    relative = np.divide(mass, of_word, where=of_word > 0, out=np.zeros_like(mass))
    with np.errstate(divide="ignore"):
        return np.log(heaviest) + np.log(np.bincount(group, relative, minlength=groups))


UNSEEN_SIGNATURE = 0.5  # the highest count of a signature without a seen word
WORDS, SIGNATURES = SHARED_BY = ("words", "signatures")  # how freed mass is shared


def groups_of(
    shared_by: str, counts: np.ndarray, signature: np.ndarray, unknown: np.ndarray
) -> np.ndarray:
    """Return the group of each word, in which seen words leave mass to unseen ones.

    By `words` a word seen more than once keeps its mass, and all rarer ones are one group:
    signatures do not count. By `signatures` each signature is a group. In both, a word outside the
    lexicon is in the group of its class of unknown words, `unknown`, 0 for the others: it leaves
    mass to the words of that class which are not known.
    """
    if shared_by == WORDS:
        signature = np.where(counts > 1, 1 + np.arange(len(counts)), 0)
    group = np.where(unknown > 0, 1 + len(counts) + unknown, signature)
    return (np.cumsum(np.bincount(group) > 0) - 1)[group]  # numbers without gaps


def discounted(counts: np.ndarray, signature: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return b by absolute discounting: seen words of a signature leave mass to unseen ones.

    b(x) = max(c(x) − D, 0) / N for a seen word, share(x)·D·T_s / U_s / N for an unseen one, T_s
    being the number of seen words of its signature s and U_s the shares of the unseen ones; where
    all were seen, all have their shares of it. A signature keeps the mass of its words, whatever
    their number. All unseen signatures together count as often as those seen once (Good & Turing):
    a large lexicon has many, and few of them are ever met. An unseen word without a share has no
    mass. Other groups than signatures may be passed, see `groups_of`.
    """
    lost = discount(counts)
    seen = np.bincount(signature, weights=counts > 0)
    unseen = np.bincount(signature, weights=share * (counts == 0))
    is_possible = (counts > 0) | (share > 0)
    count_of_unseen = unseen_signature(counts[is_possible], signature[is_possible])
    freed = np.where(seen > 0, lost * seen, count_of_unseen)
    shares = np.where(unseen > 0, unseen, np.bincount(signature, weights=share))
    per_share = np.divide(freed, shares, where=shares > 0, out=np.zeros_like(freed))
    receives = (counts == 0) | (unseen[signature] == 0)
    mass = np.maximum(counts - lost, 0) + np.where(receives, share * per_share[signature], 0)
    return mass / mass.sum()


def unseen_signature(counts: np.ndarray, signature: np.ndarray) -> float:
    """Return the count of a signature without any seen word."""
    total = np.bincount(signature, weights=counts)
    unseen = np.sum((total == 0) & (np.bincount(signature) > 0))
    return min(UNSEEN_SIGNATURE, max(np.sum(total == 1), 1) / max(unseen, 1))
