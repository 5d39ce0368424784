"""The full softmax: one vector per word. What LogLinear is with φ = one-hot and b uniform."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.common.checks import check_words
from models.features.product import FeatureProduct, tied_weight
from models.outputs import OUTPUTS
from models.outputs.given import Given


class Softmax(nn.Module):
    """p(x | K) = exp(w_x·h + c_x) / Σ_y exp(w_y·h + c_y).

    With a `product`, `weight` has a vector per feature, and w_x is the sum over those of x.
    """

    def __init__(
        self,
        words: int,
        size: int,
        *,
        weight: nn.Parameter | None = None,
        product: FeatureProduct | None = None,
    ):
        super().__init__()
        self.weight = tied_weight(weight, product.feature_count if product else words, size)
        self.product = product
        self.bias = nn.Parameter(torch.zeros(words))

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


@OUTPUTS.register("softmax")
def softmax(given: Given) -> nn.Module:
    """One vector for each signature, and all of them compared at each step."""
    return given.over_signatures(Softmax(given.features.signature_count, given.size, **given.tied))
