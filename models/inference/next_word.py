"""What a model expects before each word, from its whole distribution, which is never stored.

Where each word has the same share of its signature in every context, what is asked costs the
signatures, as in training:

    H(x | K) = H(s | K) + Σ_s p(s | K)·H(x | s)
    E[t(x) | K] = Σ_s p(s | K)·t̄_s,    t̄_s = Σ_{x∈s} b(x)/B_s · t(x)

and the words likelier than a bound are counted in each signature by bisection. Where the context
changes the shares, as n-grams do, each word is a signature of its own. All of it is exact.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from accord.models.data import Sentences
from accord.models.inference.interface import InferenceModel, with_others
from accord.models.spelling.spelling import with_spelling

TIE = 1e-6  # nats: words that differ by less are equally likely
IMPOSSIBLE = -1e4  # of what is below, p is 0 in every precision
AT_ONCE = 1 << 21  # probabilities held at a time


class WordValues(NamedTuple):
    """t(x): k numbers for each of the V words, most of them 0; entries for those that are not.

    Several entries of a word in one column are summed.
    """

    word: np.ndarray
    column: np.ndarray
    value: np.ndarray
    words: int  # V
    columns: int  # k

    @classmethod
    def none(cls, words: int) -> "WordValues":
        """Return values without any entry."""
        nothing = np.zeros(0, np.int64)
        return cls(nothing, nothing, np.zeros(0), words, 0)


class Expected(NamedTuple):
    """log p of each word of a text, END included, and the expectations before it."""

    log_p: np.ndarray  # of the word that came, in nats: (N)
    entropy: np.ndarray  # of the next word, in nats: (N)
    rank: np.ndarray  # of the word that came, 1 being the likeliest: (N)
    means: np.ndarray  # E[t(x) | K]: (N × k)


class NextWord:
    """Queries a model; `unknown` are the ids of unknown-word classes, which are no words."""

    def __init__(self, model: InferenceModel, values: WordValues, unknown: range = range(0)):
        self.model, self.unknown = model, np.array(unknown, np.int64)
        self.shares = _Shares(model.signature, model.log_share)
        self.means = _Means(self.shares, values)

    def ask(self, sentences: Sentences, spelled: np.ndarray | None = None) -> Expected:
        """Read the sentences once for all that is expected.

        `spelled` is log spell(u | s) of every word and unknown-word class (N × S), if the
        vocabulary is open. An unknown word ranks by the probability that it has so.
        """
        count = len(sentences.ids)
        expected = Expected(
            np.zeros(count),
            np.zeros(count),
            np.zeros(count, np.int64),
            np.zeros((count, self.means.columns)),
        )
        for positions, scored in self.distributions(sentences):
            words, of_signature = (
                sentences.ids[positions].astype(np.int64),
                scored.astype(np.float64),
            )
            p = np.exp(of_signature)
            beside = self.shares.log_prob_of(of_signature, with_others(words, self.unknown))
            known, is_unknown = beside[:, 0], np.isin(words, self.unknown)
            log_p = (
                known if spelled is None else with_spelling(beside, spelled[positions], is_unknown)
            )
            bound = np.where(is_unknown, log_p, known) + TIE
            likelier = self.shares.likelier(of_signature, bound)
            likelier -= (beside[:, 1:] > bound[:, None]).sum(axis=1)
            of_signatures = -(p * np.maximum(of_signature, IMPOSSIBLE)).sum(axis=1)
            expected.log_p[positions] = log_p
            expected.entropy[positions] = of_signatures + p @ self.shares.entropy
            expected.rank[positions], expected.means[positions] = 1 + likelier, self.means.of(p)
        return expected

    def distributions(self, sentences: Sentences) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield positions and log p of every signature before them, a few at a time."""
        size = max(1, AT_ONCE // len(self.shares.entropy))
        for read in self.model.states(sentences):
            for first in range(0, len(read.positions), size):
                part = slice(first, first + size)
                log_p = self.model.signature_log_prob(read.h[part], read.context[part])
                yield read.positions[part], log_p


class _Shares:
    """The share of each word in its signature, b(x)/B_s."""

    def __init__(self, signature: np.ndarray, log_share: np.ndarray):
        self.signature, self.log_share = signature, log_share
        sizes = np.bincount(signature)
        within = -np.exp(log_share) * np.maximum(log_share, IMPOSSIBLE)
        self.entropy = np.bincount(signature, within)
        # Words by signature and, in it, by rising share: whole numbers in one ascending row.
        self.levels, level = np.unique(log_share, return_inverse=True)
        self.keys = np.sort(signature * (len(self.levels) + 1) + level)
        self.ends = np.cumsum(sizes)
        self.single, self.several = np.flatnonzero(sizes == 1), np.flatnonzero(sizes > 1)

    def log_prob_of(self, of_signature: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Return log p of words in each context: (N × M)."""
        log_p = np.take_along_axis(of_signature, self.signature[words], 1)
        return log_p + self.log_share[words]

    def likelier(self, of_signature: np.ndarray, bound: np.ndarray) -> np.ndarray:
        """Return the number of words with a log p above a bound, in each context: (N)."""
        alone = (of_signature[:, self.single] > bound[:, None]).sum(axis=1)
        if not len(self.several):
            return alone
        least = bound[:, None] - of_signature[:, self.several]
        least = np.nan_to_num(least, nan=np.inf, posinf=np.inf, neginf=-np.inf)
        level = np.searchsorted(self.levels, least, side="right")
        first = np.searchsorted(self.keys, self.several * (len(self.levels) + 1) + level)
        return alone + (self.ends[self.several] - first).sum(axis=1)


class _Means:
    """t̄_s of every signature: entries that are not 0, by column."""

    def __init__(self, shares: _Shares, values: WordValues):
        self.columns = values.columns
        signatures = len(shares.entropy)
        weighed = np.exp(shares.log_share[values.word]) * values.value
        at = values.column.astype(np.int64) * signatures + shares.signature[values.word]
        place, number = np.unique(at, return_inverse=True)
        self.value = np.bincount(number, weighed, minlength=len(place))
        column, self.signature = np.divmod(place, signatures)
        self.starts = np.searchsorted(column, np.arange(self.columns + 1))

    def of(self, p: np.ndarray) -> np.ndarray:
        """Return Σ_s p(s | K)·t̄_s of each column: (N × k)."""
        found = np.zeros((len(p), self.columns))
        for column in range(self.columns):
            entries = slice(self.starts[column], self.starts[column + 1])
            found[:, column] = p[:, self.signature[entries]] @ self.value[entries]
        return found
