"""The background b(K, x): the mass that words have before the features speak."""

import numpy as np
import torch
from torch import Tensor, nn

from models.features import Features


class Background(nn.Module):
    """What every background answers.

    `context` holds the ids of the preceding words, (N × n), the most recent last; a background
    that does not depend on it ignores it. Masses need not sum to one: the model normalises.
    """

    def class_mass(self, context: Tensor | None = None) -> Tensor:
        """log B_s = log Σ_{x∈s} b(K, x): (S), or (N × S) where it depends on the context."""
        raise NotImplementedError

    def log_mass_of(self, words: Tensor, context: Tensor | None = None) -> Tensor:
        """log b(K, x) of one word for each context: (N)."""
        raise NotImplementedError


class Unigram(Background):
    """b(x) = mass[x], whatever the context.

    The logarithms are kept in double precision: B_s is summed before its logarithm is taken, and
    b(x)/B_s, the share of a word in its signature, is a difference of two of them.
    """

    def __init__(self, features: Features, mass: np.ndarray):
        super().__init__()
        mass = _checked(mass, features.words)
        class_mass = np.bincount(features.signature, mass, minlength=features.signatures)
        with np.errstate(divide="ignore"):  # the logarithm of no mass is −inf, as it should be
            log_mass, log_class_mass = np.log(mass), np.log(class_mass)
        self.register_buffer("_log_mass", torch.from_numpy(log_mass), persistent=False)
        self.register_buffer("_log_class_mass", torch.from_numpy(log_class_mass), persistent=False)

    def class_mass(self, context: Tensor | None = None) -> Tensor:
        return self._log_class_mass

    def log_mass_of(self, words: Tensor, context: Tensor | None = None) -> Tensor:
        return self._log_mass[words]


class Uniform(Unigram):
    """b(x) = 1/V."""

    def __init__(self, features: Features):
        super().__init__(features, np.ones(features.words))


def _checked(mass, words: int) -> np.ndarray:
    """The mass as probabilities in double precision, or a refusal that says which entry is bad."""
    mass = np.asarray(mass, dtype=np.float64)
    if mass.shape != (words,):
        raise ValueError(f"mass: expected {words} numbers, one per word; got shape {mass.shape}")
    wrong = ~(np.isfinite(mass) & (mass >= 0))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(f"mass: expected finite numbers ≥ 0, got {mass[at]} at index {at}")
    if not mass.any():
        raise ValueError(f"mass: expected a positive sum, got {words} zeros")
    mass = mass / mass.max()  # first, so that neither 1e300 nor 1e-300 leaves the range in the sum
    return mass / mass.sum()
