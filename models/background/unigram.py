"""A background that knows no context: the unigram, and the uniform one."""

import numpy as np
import torch
from torch import Tensor

from accord.models.background.base import Background, Chance
from accord.models.features.phi import Features


class Unigram(Background):
    """b(x) = mass[x], whatever the context.

    The logarithms are kept in double precision: b(x)/B_s, the share of a word in its signature,
    is the difference of two of them.
    """

    is_static = True

    def __init__(self, features: Features, mass: np.ndarray):
        super().__init__(features)
        mass = _checked(mass, features.vocabulary_size)
        log_class_mass = _log_sums(mass, features.signature, features.signature_count)
        log_total = np.logaddexp.reduce(log_class_mass)
        with np.errstate(divide="ignore"):  # the logarithm of no mass is −inf, as it should be
            log_mass = np.log(mass) - log_total
        for name, array in (("log_mass", log_mass), ("log_sums", log_class_mass - log_total)):
            self.register_buffer(name, torch.from_numpy(array), persistent=False)
        self.mass = mass
        self.cumulative: Tensor | None = None  # made when first drawn from

    def _ordered(self) -> np.ndarray:
        return np.lexsort((-self.mass, self.of_word))  # in a signature by falling mass

    def class_mass(self, context: Tensor | None = None) -> Tensor:
        return self.log_sums

    def log_mass_of(self, words: Tensor, context: Tensor | None = None) -> Tensor:
        return self.log_mass[words]

    def log_masses(self, context: Tensor | None = None) -> Tensor:
        return self.log_mass

    def log_share(self) -> Tensor:
        """log b(x)/B_s of every word: −inf of one without mass, also where s has none."""
        of_signature = self.log_sums[torch.from_numpy(self.of_word).to(self.log_sums.device)]
        return (self.log_mass - of_signature).nan_to_num(nan=-torch.inf, neginf=-torch.inf)

    def fixed_shares(self) -> Tensor:
        return self.log_share()

    def word_masses(self) -> np.ndarray:
        return self.mass

    def regrouped(self, features: Features) -> "Unigram":
        return Unigram(features, self.log_mass.exp().cpu().numpy())

    def contenders(self, k: int) -> Tensor:
        """The k heaviest words of each signature: the others have k before them always."""
        positions = self.starts[:-1, None] + torch.arange(k, device=self.starts.device)
        return self.members[positions[positions < self.starts[1:, None]]]

    def draw(self, signatures: Tensor, context: Tensor | None, chance: Chance) -> Tensor:
        if self.cumulative is None:
            self.cumulative = self._cumulative_shares()
        lot = torch.rand(
            len(signatures), dtype=torch.float64, device=signatures.device, generator=chance
        )
        # A little less than drawn: rounding must not carry a lot into the next signature.
        drawn = torch.searchsorted(self.cumulative, signatures + lot * (1 - 1e-9), right=True)
        return self.members[drawn]

    def _cumulative_shares(self) -> Tensor:
        """Signature s and the share of it up to each of its members, in one ascending row."""
        signature = torch.arange(len(self.log_sums), device=self.starts.device)
        signature = signature.repeat_interleave(self.starts.diff())
        share = (self.log_mass[self.members] - self.log_sums[signature]).exp().nan_to_num()
        total = torch.cat([share.new_zeros(1), share.cumsum(0)])
        before = total[self.starts[:-1]]
        whole = (total[self.starts[1:]] - before).clamp(min=torch.finfo(share.dtype).tiny)
        return signature + (total[1:] - before[signature]) / whole[signature]


class Uniform(Unigram):
    """b(x) = 1/V."""

    def __init__(self, features: Features):
        super().__init__(features, np.ones(features.vocabulary_size))


def _checked(mass, words: int) -> np.ndarray:
    """The mass in double precision, or a refusal that says which entry is bad."""
    mass = np.asarray(mass, dtype=np.float64)
    if mass.shape != (words,):
        raise ValueError(f"mass: expected {words} numbers, one per word; got shape {mass.shape}")
    wrong = ~(np.isfinite(mass) & (mass >= 0))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(f"mass: expected finite numbers ≥ 0, got {mass[at]} at index {at}")
    if not mass.any():
        raise ValueError(f"mass: expected a positive sum, got {words} zeros")
    return mass


def _log_sums(mass: np.ndarray, group: np.ndarray, groups: int) -> np.ndarray:
    """log Σ mass of each group, relative to its heaviest word, so that 1e-300 and 1e300 survive."""
    heaviest = np.zeros(groups)
    np.maximum.at(heaviest, group, mass)
    of_word = heaviest[group]
    relative = np.divide(mass, of_word, where=of_word > 0, out=np.zeros_like(mass))
    with np.errstate(divide="ignore"):
        return np.log(heaviest) + np.log(np.bincount(group, relative, minlength=groups))
