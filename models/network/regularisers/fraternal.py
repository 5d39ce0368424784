"""Fraternal dropout (Zołna et al. 2018): what units are dropped should not matter."""

from torch import Tensor
from torch.nn.functional import mse_loss


def fraternal_loss(
    losses: tuple[Tensor, Tensor], states: tuple[Tensor, Tensor], strength: float
) -> Tensor:
    """(ℓ₁ + ℓ₂)/2 + κ · the mean of (m₁ − m₂)², of two runs that drop other units.

    m are the states that the output layer reads (N × H), as every output layer has them. The
    paper compares the scores of words that a softmax reads, whose differences are larger.
    """
    return (losses[0] + losses[1]) / 2 + strength * mse_loss(*states)
