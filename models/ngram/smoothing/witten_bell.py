"""Witten-Bell smoothing."""

from collections.abc import Sequence

import numpy as np

from accord.models.ngram.counts import Level
from accord.models.ngram.model import NGrams
from accord.models.ngram.smoothing.interpolated import interpolated


def witten_bell(levels: Sequence[Level], base: np.ndarray) -> NGrams:
    """A context leaves to shorter ones what its new words had (Witten & Bell 1991), interpolated.

        a(hw) = c(hw) / (c(h) + T(h)),    γ(h) = T(h) / (c(h) + T(h))

    T(h) is how many different words follow h: so often something new came after it.
    """

    def weights(number: int) -> tuple[np.ndarray, np.ndarray]:
        level = levels[number]
        different = np.bincount(level.nodes, level.counts > 0)
        total = np.bincount(level.nodes, level.counts) + different
        return level.counts / total[level.nodes], different / total

    return interpolated(levels, weights, base)
