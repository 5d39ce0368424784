"""The prior mass of every word: what is taken from the counts of seen ones goes to unseen ones."""

import numpy as np

UNSEEN_SIGNATURE = 0.5  # the count a signature has when none of its words was seen in training


def unigram(counts: np.ndarray, signature: np.ndarray) -> np.ndarray:
    """Absolute discounting: what words of a signature lose goes to its words not seen.

    b(x) = max(c(x) − D, 0) / N for a word that was seen, D·T_s / U_s / N for one that was not,
    T_s and U_s being how many words of its signature s were and were not; where all were seen,
    all share alike. A signature keeps the mass of its words, whatever their number.
    """
    once, twice = np.sum(counts == 1), np.sum(counts == 2)
    discount = once / (once + 2 * twice) if once and twice else 0.5
    seen = np.bincount(signature, weights=counts > 0)
    unseen = np.bincount(signature, weights=counts == 0)
    freed = np.where(seen > 0, discount * seen, UNSEEN_SIGNATURE)
    shares = freed / np.where(unseen > 0, unseen, seen)
    receives = (counts == 0) | (unseen[signature] == 0)
    mass = np.maximum(counts - discount, 0) + np.where(receives, shares[signature], 0)
    return mass / mass.sum()
