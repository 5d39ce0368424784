"""Add-α smoothing."""

from collections.abc import Sequence

import numpy as np

from accord.models.ngram.counts import Level
from accord.models.ngram.model import NGrams
from accord.models.ngram.smoothing.interpolated import interpolated


def add_alpha(
    levels: Sequence[Level],
    base: np.ndarray,
    *,
    alpha: float = 0.1,  # how often more than it occurs every n-gram is counted
) -> NGrams:
    """Every n-gram counts α more than it occurs, and there is no backing off.

        p(w | h) = (c(hw) + α) / (c(h) + α·V)

    Only contexts of full length, or that begin a sentence, are counted. No shorter contexts give
    words their share, so that all are alike to it, whatever the base.
    """
    if alpha <= 0:
        raise ValueError(f"smoothing: add-alpha.alpha: expected more than 0, got {alpha}")
    alike = np.full(levels[0].words, 1 / levels[0].words)

    def weights(number: int) -> tuple[np.ndarray, np.ndarray]:
        level = levels[number]
        is_full = level.at_start if 0 < number < len(levels) - 1 else number == len(levels) - 1
        counts = np.where(is_full, level.counts, 0)
        total = np.bincount(level.nodes, counts) + alpha * level.words
        return counts / total[level.nodes], alpha * level.words / total

    return interpolated(levels, weights, alike)
