"""Witten-Bell, Jelinek-Mercer, add-α."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from accord.errors import AccordError
from accord.models.background import NGrams, interpolated
from accord.models.mixture import likeliest_weights
from accord.models.ngrams import Level


def witten_bell(levels: Sequence[Level], base: np.ndarray) -> NGrams:
    """A context leaves mass by its number of new words (Witten & Bell 1991); interpolated.

        a(hw) = c(hw) / (c(h) + T(h)),    γ(h) = T(h) / (c(h) + T(h))

    T(h) is how many different words follow h: so often something new came after it.
    """

    def weights(number: int) -> tuple[np.ndarray, np.ndarray]:
        level = levels[number]
        different = np.bincount(level.nodes, level.counts > 0)
        total = np.bincount(level.nodes, level.counts) + different
        return level.counts / total[level.nodes], different / total

    return interpolated(levels, weights, base)


CLASSES = 32  # of contexts by the logarithm of their count, each with its own weight
ROUNDS = 30  # of expectation and maximisation


def jelinek_mercer(levels: Sequence[Level], base: np.ndarray) -> NGrams:
    """Linear interpolation of the orders (Jelinek & Mercer 1980), weighted by leaving one out.

        a(hw) = λ(h)·c(hw)/c(h),    γ(h) = 1 − λ(h)

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

    return interpolated(levels, weights, base)


def _digits(counts: np.ndarray) -> np.ndarray:
    return np.minimum(np.frexp(counts)[1], CLASSES - 1)


def _likeliest(
    above: np.ndarray, below: np.ndarray, times: np.ndarray, kind: np.ndarray
) -> np.ndarray:
    """λ of each kind that maximises Σ times·log(λ·above + (1 − λ)·below).

    What neither explains is a word that occurs once only, left out: it speaks for `below`. One
    occurrence is added that speaks for both alike, lest λ be 1 and words of `below` impossible.
    """
    below = np.where((above > 0) | (below > 0), below, 1.0)
    with np.errstate(divide="ignore"):
        log_p = np.log(np.stack([above, below]))
    return likeliest_weights(log_p, kind, CLASSES, times, added=1, rounds=ROUNDS, enough=-np.inf)[
        :, 0
    ]


def add_alpha(
    levels: Sequence[Level],
    base: np.ndarray,
    *,
    alpha: Annotated[float, "how often more than it occurs every n-gram is counted"] = 0.1,
) -> NGrams:
    """Every n-gram counts α more than it occurs, and there is no backing off.

        p(w | h) = (c(hw) + α) / (c(h) + α·V)

    Only contexts of full length, or that begin a sentence, are counted. No shorter contexts give
    words their share, so that all are alike to it, whatever the base.
    """
    if alpha <= 0:
        raise AccordError(f"smoothing: add-alpha.alpha: expected more than 0, got {alpha}")
    alike = np.full(levels[0].words, 1 / levels[0].words)

    def weights(number: int) -> tuple[np.ndarray, np.ndarray]:
        level = levels[number]
        is_full = level.at_start if 0 < number < len(levels) - 1 else number == len(levels) - 1
        counts = np.where(is_full, level.counts, 0)
        total = np.bincount(level.nodes, counts) + alpha * level.words
        return counts / total[level.nodes], alpha * level.words / total

    return interpolated(levels, weights, alike)
