"""What a model expects before each word, from its whole distribution, which is never stored.

Where each word has the same share of its signature in every context, an expectation costs the
signatures, as in training:

    H(x | K) = H(s | K) + Σ_s p(s | K)·H(x | s)
    E[t(x) | K] = Σ_s p(s | K)·t̄_s,    t̄_s = Σ_{x∈s} b(x)/B_s · t(x)

and the words likelier than a bound are counted in each signature by bisection. Where the context
changes the shares, as n-grams do, each word is a signature of its own. All of it is exact.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from accord.models.data import Sentences
from accord.models.inference.interface import InferenceModel, slices, with_others
from accord.models.spelling import with_spelling

TIE = 1e-6  # nats: words that differ by less are equally likely
IMPOSSIBLE = -1e4  # log p below which p is 0 in every precision
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
        self.signature, self.log_share = model.signature, model.log_share
        sizes = np.bincount(self.signature)
        self.within = np.bincount(  # H(x | s)
            self.signature, -np.exp(self.log_share) * np.maximum(self.log_share, IMPOSSIBLE)
        )
        # Words by signature and, in it, by rising share: whole numbers in one ascending row.
        self.levels, level = np.unique(self.log_share, return_inverse=True)
        self.keys = np.sort(self.signature * (len(self.levels) + 1) + level)
        self.ends = np.cumsum(sizes)
        self.single, self.several = np.flatnonzero(sizes == 1), np.flatnonzero(sizes > 1)
        # t̄_s of every signature: entries that are not 0, by column.
        weighed = np.exp(self.log_share[values.word]) * values.value
        entries, number = np.unique(
            values.column.astype(np.int64) * len(sizes) + self.signature[values.word],
            return_inverse=True,
        )
        self.mean = np.bincount(number, weighed, minlength=len(entries))
        column, self.mean_signature = np.divmod(entries, len(sizes))
        self.starts = np.searchsorted(column, np.arange(values.columns + 1)).tolist()

    def ask(
        self,
        sentences: Sentences,
        spelled: np.ndarray | None = None,
        observe: Callable[[np.ndarray, np.ndarray], None] | None = None,
    ) -> Expected:
        """Read the sentences once for all that is expected.

        `spelled` is log spell(u | s) of every word and unknown-word class (N × S), if the
        vocabulary is open. An unknown word ranks by the probability that it has so. `observe` is
        called with positions and log p of every signature before them.
        """
        count, columns = len(sentences.ids), len(self.starts) - 1
        expected = Expected(
            np.zeros(count), np.zeros(count), np.zeros(count, int), np.zeros((count, columns))
        )
        for positions, scored in distributions(self.model, sentences):
            if observe:
                observe(positions, scored)
            words, log_p = sentences.ids[positions].astype(np.int64), scored.astype(np.float64)
            p, queried = np.exp(log_p), with_others(words, self.unknown)
            of_words = self.log_prob_of(log_p, queried)
            known, is_unknown = of_words[:, 0], np.isin(words, self.unknown)
            scores = known
            if spelled is not None:
                scores = with_spelling(of_words, spelled[positions], is_unknown)
            bound = np.where(is_unknown, scores, known) + TIE
            likelier = self.likelier(log_p, bound) - (of_words[:, 1:] > bound[:, None]).sum(axis=1)
            of_signatures = -(p * np.maximum(log_p, IMPOSSIBLE)).sum(axis=1)
            expected.log_p[positions] = scores
            expected.entropy[positions] = of_signatures + p @ self.within
            expected.rank[positions] = 1 + likelier
            for column, entries in enumerate(map(slice, self.starts, self.starts[1:])):
                means = p[:, self.mean_signature[entries]] @ self.mean[entries]
                expected.means[positions, column] = means
        return expected

    def log_prob_of(self, log_p: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Return log p of words from that of the signatures, in each context: (N × M)."""
        return np.take_along_axis(log_p, self.signature[words], 1) + self.log_share[words]

    def likelier(self, log_p: np.ndarray, bound: np.ndarray) -> np.ndarray:
        """Return the number of words with a log p above a bound, in each context: (N)."""
        alone = (log_p[:, self.single] > bound[:, None]).sum(axis=1)
        if not len(self.several):
            return alone
        least = bound[:, None] - log_p[:, self.several]
        least = np.nan_to_num(least, nan=np.inf, posinf=np.inf, neginf=-np.inf)
        level = np.searchsorted(self.levels, least, side="right")
        first = np.searchsorted(self.keys, self.several * (len(self.levels) + 1) + level)
        return alone + (self.ends[self.several] - first).sum(axis=1)


def distributions(
    model: InferenceModel, sentences: Sentences
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield positions and log p of every signature before them, a few at a time."""
    size = max(1, AT_ONCE // (1 + int(model.signature.max())))
    for read in model.states(sentences):
        for part in slices(len(read.positions), size):
            log_p = model.signature_log_prob(read.h[part], read.context[part])
            yield read.positions[part], log_p
