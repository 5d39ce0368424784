"""Modified Kneser-Ney smoothing, and the discounts that it takes."""

from collections.abc import Sequence

import numpy as np

from accord.models.ngram.counts import Level
from accord.models.ngram.model import NGrams
from accord.models.ngram.smoothing.interpolated import interpolated


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

    return interpolated(levels, weights, base)


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
