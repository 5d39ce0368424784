"""The full softmax: one vector per word. What LogLinear is with φ = one-hot and b uniform."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from accord.models.common.checks import check_words
from accord.models.features.product import FeatureProduct, tied_weight
from accord.models.outputs.given import Given


class Softmax(nn.Module):
    """p(x | K) = exp(w_x·h + c_x) / Σ_y exp(w_y·h + c_y).

    With a `product`, `weight` has a vector per feature, and w_x is the sum over those of x. With
    `mass` scores start from its logarithm, hence normalised: a bias takes short steps, and would
    be epochs on its way there.
    """

    def __init__(
        self,
        words: int,
        size: int,
        *,
        mass: np.ndarray | None = None,
        weight: nn.Parameter | None = None,
        product: FeatureProduct | None = None,
    ):
        super().__init__()
        self.weight = tied_weight(weight, product.feature_count if product else words, size)
        self.product = product
        self.bias = nn.Parameter(torch.zeros(words))
        if mass is not None:
            self.bias.data.copy_(torch.from_numpy(log_share(mass)))

    def loss(self, h: Tensor, targets: Tensor) -> Tensor:
        return -self.log_prob_of(h, targets).mean()

    def log_prob_of(self, h: Tensor, words: Tensor) -> Tensor:
        check_words("words", words, len(self.bias))
        if words.dim() > 1:
            return self.log_prob(h).gather(1, words)
        return -functional.cross_entropy(self._scores(h), words, reduction="none")

    def log_prob(self, h: Tensor) -> Tensor:
        return self._scores(h).log_softmax(dim=1)

    def _scores(self, h: Tensor) -> Tensor:
        return functional.linear(h, self._vectors(), self.bias)

    def _vectors(self) -> Tensor:
        return self.product(self.weight) if self.product else self.weight


class SelfNormalised(Softmax):
    """A softmax whose log Z is pulled to 0 in training (Devlin et al. 2014).

        loss = −log p(x̄ | K) + penalty · (log Z)²

    Its scores then are log p but for log Z, which is small, and a word's costs one product of
    vectors. Where probabilities are asked for, they are normalised all the same.
    """

    def __init__(self, mass: np.ndarray, size: int, penalty: float, **tied):
        super().__init__(len(mass), size, mass=mass, **tied)
        self.penalty = penalty

    def loss(self, h: Tensor, targets: Tensor) -> Tensor:
        if not self.training:
            return super().loss(h, targets)
        check_words("words", targets, len(self.bias))
        scores = self._scores(h).float()
        log_z = scores.logsumexp(dim=1)
        log_p = scores.gather(1, targets.unsqueeze(1)).squeeze(1) - log_z
        return (self.penalty * log_z.square() - log_p).mean()

    def score_of(self, h: Tensor, words: Tensor) -> Tensor:
        """What is taken for log p where Z is not computed: (N)."""
        return (h * self._vectors()[words]).sum(dim=1) + self.bias[words]


def log_share(mass: np.ndarray) -> np.ndarray:
    """log p in proportion to the mass; none starts from −∞, but from the least that there is."""
    mass = np.maximum(mass, mass[mass > 0].min())
    return np.log(mass / mass.sum())


def softmax(given: Given) -> nn.Module:
    """One vector for each signature, and all of them compared at each step."""
    mass = given.mass
    return given.over_signatures(Softmax(len(mass), given.size, mass=mass, **given.tied))


def self_normalised(
    given: Given,
    *,
    penalty: float = 0.1,  # on the square of log Z
) -> nn.Module:
    """A softmax that learns to need no normalising; where p is asked for, it is normalised."""
    if penalty < 0:
        raise ValueError(f"output: self-normalised.penalty: expected 0 or more, got {penalty}")
    return given.over_signatures(SelfNormalised(given.mass, given.size, penalty, **given.tied))
