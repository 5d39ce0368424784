"""What every smoothing does with its weights: interpolate, from the shortest contexts up."""

from collections.abc import Callable, Sequence

import numpy as np

from accord.models.ngram.counts import Level
from accord.models.ngram.model import NGrams, Table

Smoothing = Callable[[Sequence[Level], np.ndarray], NGrams]


def interpolated(levels: Sequence[Level], weights: Callable, base: np.ndarray) -> NGrams:
    """The model with p(w | h) = a(hw) + γ(h)·p(w | h′), level by level; weights give a and γ."""
    tables, below = [], base
    for number, level in enumerate(levels):
        a, backoff = weights(number)
        p = a + backoff[level.nodes] * (below[level.shorter] if number else below)
        tables.append(Table(level.contexts, level.keys, p, backoff))
        below = p
    return NGrams(tables, levels[0].words)
