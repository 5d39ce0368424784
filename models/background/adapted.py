"""The prior mass of words after a second text: as far as that text tells, else as before it."""

import numpy as np

from accord.models.ngram.counts import discount

ROUNDS = 50  # each halves the range in which λ is looked for


def adapted(before: np.ndarray, counts: np.ndarray, read_as: np.ndarray) -> np.ndarray:
    """b = λ·c/N + (1 − λ)·b₀ of the words that had mass before, which are the first of all.

    New words count for the unknown ones that they were read as, and then have their part of the
    mass of these: (c(x) − D)/C of it, C being the count of all that are read as the same, while
    the unknown one keeps D for each, as by absolute discounting.
    """
    known = len(before)
    new, of_new = counts[known:].astype(float), read_as[known:]
    as_read = counts[:known] + np.bincount(of_new, new, minlength=known)
    share = text_share(before, as_read)
    mass = share * as_read / max(as_read.sum(), 1) + (1 - share) * before
    kept = discount(new)
    per_count = mass / np.maximum(as_read, 1)
    lost = np.bincount(of_new, new - kept, minlength=known)
    return np.concatenate([mass - per_count * lost, per_count[of_new] * (new - kept)])


def text_share(before: np.ndarray, counts: np.ndarray) -> float:
    """λ, for which the text is likeliest, each word being left out of the counts it is scored by.

    Σ c·log(λ·(c − 1)/(N − 1) + (1 − λ)·b₀) is concave: λ is where its slope is 0, or an end.
    """
    seen = counts > 0
    counts, before = counts[seen], before[seen]
    others = (counts - 1) / max(counts.sum() - 1, 1)

    def slope(share: float) -> float:
        mixed = share * others + (1 - share) * before
        return float((counts * (others - before) / np.maximum(mixed, 1e-300)).sum())

    low, high = 0.0, 1.0
    if slope(low) <= 0:
        return low
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return low
