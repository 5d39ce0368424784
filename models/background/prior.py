"""The prior mass of every word: what is taken from the counts of seen ones goes to unseen ones."""

import numpy as np

from accord.models.ngram.counts import discount

UNSEEN_SIGNATURE = 0.5  # the most that a signature counts when none of its words was seen


def discounted(counts: np.ndarray, signature: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Absolute discounting: what words of a signature lose goes to its words not seen.

    b(x) = max(c(x) − D, 0) / N for a word that was seen, share(x)·D·T_s / U_s / N for one that was
    not, T_s being how many words of its signature s were seen and U_s the shares of those that
    were not; where all were seen, all have their shares of it. A signature keeps the mass of its
    words, whatever their number. All that were not seen together count as often as those that
    were seen once (Good & Turing): a large lexicon has many, and few of them are ever met. A word
    of no share that was not seen has no mass.
    """
    lost = discount(counts)
    seen = np.bincount(signature, weights=counts > 0)
    unseen = np.bincount(signature, weights=share * (counts == 0))
    met = (counts > 0) | (share > 0)
    freed = np.where(seen > 0, lost * seen, unseen_signature(counts[met], signature[met]))
    shares = np.where(unseen > 0, unseen, np.bincount(signature, weights=share))
    per_share = np.divide(freed, shares, where=shares > 0, out=np.zeros_like(freed))
    receives = (counts == 0) | (unseen[signature] == 0)
    mass = np.maximum(counts - lost, 0) + np.where(receives, share * per_share[signature], 0)
    return mass / mass.sum()


def unseen_signature(counts: np.ndarray, signature: np.ndarray) -> float:
    """What a signature counts when none of its words was seen."""
    total = np.bincount(signature, weights=counts)
    unseen = np.sum((total == 0) & (np.bincount(signature) > 0))
    return min(UNSEEN_SIGNATURE, max(np.sum(total == 1), 1) / max(unseen, 1))
