"""Prior mass of words from counts: b of every word, and log sums of it.

Needs numpy only: b is counted in the stage `background`, and a compact model makes it again.
"""

import numpy as np
from numpy.typing import ArrayLike

from accord.errors import AccordError
from accord.models.counts import discount


def checked_mass(given: ArrayLike, words: int) -> np.ndarray:
    """The mass in double precision; an error names a bad entry."""
    mass = np.asarray(given, dtype=np.float64)
    if mass.shape != (words,):
        raise AccordError(f"mass: expected {words} numbers, one per word; got shape {mass.shape}")
    wrong = ~(np.isfinite(mass) & (mass >= 0))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise AccordError(f"mass: expected finite numbers ≥ 0, got {mass[at]} at index {at}")
    if not mass.any():
        raise AccordError(f"mass: expected a positive sum, got {words} zeros")
    return mass


def log_sums(mass: np.ndarray, group: np.ndarray, groups: int) -> np.ndarray:
    """log Σ mass of each group, relative to its heaviest word, so that 1e-300 and 1e300 survive."""
    heaviest = np.zeros(groups)
    np.maximum.at(heaviest, group, mass)
    of_word = heaviest[group]
    relative = np.divide(mass, of_word, where=of_word > 0, out=np.zeros_like(mass))
    with np.errstate(divide="ignore"):
        return np.log(heaviest) + np.log(np.bincount(group, relative, minlength=groups))


UNSEEN_SIGNATURE = 0.5  # the most that a signature counts when none of its words was seen
WORDS, SIGNATURES = SHARED_BY = ("words", "signatures")  # how freed mass is shared


def groups_of(
    shared_by: str, counts: np.ndarray, signature: np.ndarray, unknown: np.ndarray
) -> np.ndarray:
    """The group of each word, in which seen words leave mass to unseen ones.

    By `words` a word seen more than once keeps its mass, and all rarer ones are one group: what
    the signatures are does not count. By `signatures` each signature is a group. In both, a word
    outside the lexicon is in the group of its class of unknown words, `unknown`, 0 for the others:
    what it loses goes to the words of that class which are not known.
    """
    if shared_by == WORDS:
        signature = np.where(counts > 1, 1 + np.arange(len(counts)), 0)
    group = np.where(unknown > 0, 1 + len(counts) + unknown, signature)
    return (np.cumsum(np.bincount(group) > 0) - 1)[group]  # numbers without gaps


def discounted(counts: np.ndarray, signature: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Absolute discounting: unseen words of a signature share the mass that seen ones lose.

    b(x) = max(c(x) − D, 0) / N for a word that was seen, share(x)·D·T_s / U_s / N for one that was
    not, T_s being how many words of its signature s were seen and U_s the shares of those that
    were not; where all were seen, all have their shares of it. A signature keeps the mass of its
    words, whatever their number. All that were not seen together count as often as those that
    were seen once (Good & Turing): a large lexicon has many, and few of them are ever met. A word
    of no share that was not seen has no mass. The groups may be others than signatures, see
    `groups_of`.
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
    """The count of a signature without any seen word."""
    total = np.bincount(signature, weights=counts)
    unseen = np.sum((total == 0) & (np.bincount(signature) > 0))
    return min(UNSEEN_SIGNATURE, max(np.sum(total == 1), 1) / max(unseen, 1))


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
    """The λ that makes the text likeliest; each word is left out of the counts that score it.

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
