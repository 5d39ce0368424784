"""Smoothing: from counts to the probability of each n-gram and the weight of what lies below it.

All have the form p(w | h) = a(hw) + γ(h)·p(w | h′), h′ being h without its oldest word; below the
empty context stands `base`, a distribution over all words: uniform unless it says otherwise.
"""

from collections.abc import Callable, Sequence

import numpy as np

from models.ngram.counts import Level
from models.ngram.model import NGrams, Table

Smoothing = Callable[[Sequence[Level], np.ndarray], NGrams]
CLASSES = 32  # of contexts by the logarithm of their count, each with its own weight
ROUNDS = 30  # of expectation and maximisation


def kneser_ney(levels: Sequence[Level], base: np.ndarray) -> NGrams:
    """Modified Kneser-Ney, interpolated (Chen & Goodman 1998), as KenLM estimates it.

        a(hw) = (c(hw) − D(c(hw))) / c(h),    γ(h) = Σ_w D(c(hw)) / c(h)

    c counts occurrences at the highest order and for n-grams that begin a sentence; for all
    others it counts in how many different words' company, to the left, the n-gram occurs.
    """
    counts = [level.counts for level in levels]
    for number in range(len(levels) - 1):
        level, above = levels[number], levels[number + 1]
        company = np.bincount(above.shorter, minlength=len(level.keys))
        counts[number] = np.where(level.at_start, level.counts, company) if number else company

    def weights(number: int) -> tuple[np.ndarray, np.ndarray]:
        level, c = levels[number], counts[number]
        lost = discounts(c)[np.minimum(c, 3)]
        total = np.bincount(level.nodes, c)
        return (c - lost) / total[level.nodes], np.bincount(level.nodes, lost) / total

    return _interpolated(levels, weights, base)


def discounts(counts: np.ndarray) -> np.ndarray:
    """What an n-gram loses that was counted 0, 1, 2, 3 or more times.

    D_k = k − (k + 1)·Y·n_{k+1}/n_k with Y = n₁/(n₁ + 2n₂), n_k n-grams being counted k times.
    Where a text is too small to tell, KenLM's fallback: half of k.
    """
    n = np.bincount(np.minimum(counts, 5), minlength=6)[:5].astype(np.float64)
    fallback = np.array([0, 0.5, 1, 1.5])
    if not n[1:].all():
        return fallback
    k = np.arange(1, 4)
    found = k - (k + 1) * n[1] / (n[1] + 2 * n[2]) * n[2:] / n[1:4]
    return np.concatenate(([0], found)) if ((found >= 0) & (found <= k)).all() else fallback


def jelinek_mercer(levels: Sequence[Level], base: np.ndarray) -> NGrams:
    """a(hw) = λ(h)·c(hw)/c(h),    γ(h) = 1 − λ(h)   (Jelinek & Mercer 1980).

    λ is shared by contexts of one length whose counts have the same number of binary digits. It is
    the one under which each occurrence is likeliest when it is itself left out of the counts,
    found by expectation and maximisation, from the shortest contexts to the longest.
    """
    left_out = base  # the probability that an occurrence of each n-gram has when it is left out

    def weights(number: int) -> tuple[np.ndarray, np.ndarray]:
        nonlocal left_out
        level = levels[number]
        total = np.bincount(level.nodes, level.counts)
        below = left_out[level.shorter] if number else left_out
        others = total[level.nodes] - 1
        again = np.maximum(level.counts - 1, 0)
        share = np.divide(again, others, where=others > 0, out=np.zeros(len(again)))
        kind = _digits(others)
        weight = _likeliest(share, below, np.where(others > 0, level.counts, 0), kind)
        known = np.where(others > 0, weight[kind], 0)
        left_out = known * share + (1 - known) * below
        of_node = weight[_digits(total)]
        return of_node[level.nodes] * level.counts / total[level.nodes], 1 - of_node

    return _interpolated(levels, weights, base)


def _digits(counts: np.ndarray) -> np.ndarray:
    return np.minimum(np.frexp(counts)[1], CLASSES - 1)


def _likeliest(above: np.ndarray, below: np.ndarray, times: np.ndarray, kind: np.ndarray):
    """λ of each kind that maximises Σ times·log(λ·above + (1 − λ)·below).

    What neither explains is a word that occurs once only, left out: it speaks for `below`. One
    occurrence is added that speaks for both alike, lest λ be 1 and words of `below` impossible.
    """
    weight = np.full(CLASSES, 0.5)
    total = np.bincount(kind, times, minlength=CLASSES) + 1
    for _ in range(ROUNDS):
        from_above = weight[kind] * above
        both = from_above + (1 - weight[kind]) * below
        posterior = np.divide(from_above, both, where=both > 0, out=np.zeros(len(both)))
        found = np.bincount(kind, times * posterior, minlength=CLASSES)
        weight = (found + 0.5) / total
    return weight


def add_alpha(levels: Sequence[Level], base: np.ndarray, alpha: float = 0.1) -> NGrams:
    """p(w | h) = (c(hw) + α) / (c(h) + α·V): a(hw) = c(hw)/(c(h) + α·V), the rest is the base's.

    Only contexts of full length, or that begin a sentence, are counted: there is no backing off.
    """

    def weights(number: int) -> tuple[np.ndarray, np.ndarray]:
        level = levels[number]
        is_full = level.at_start if 0 < number < len(levels) - 1 else number == len(levels) - 1
        counts = np.where(is_full, level.counts, 0)
        total = np.bincount(level.nodes, counts) + alpha * level.words
        return counts / total[level.nodes], alpha * level.words / total

    return _interpolated(levels, weights, base)


def _interpolated(levels: Sequence[Level], weights: Callable, base: np.ndarray) -> NGrams:
    """The model with p(w | h) = a(hw) + γ(h)·p(w | h′), level by level; weights give a and γ."""
    tables, below = [], base
    for number, level in enumerate(levels):
        a, backoff = weights(number)
        p = a + backoff[level.nodes] * (below[level.shorter] if number else below)
        tables.append(Table(level.contexts, level.keys, p, backoff))
        below = p
    return NGrams(tables, levels[0].words)


SMOOTHINGS: dict[str, Smoothing] = {
    "kneser-ney": kneser_ney,
    "jelinek-mercer": jelinek_mercer,
    "add-alpha": add_alpha,
}
