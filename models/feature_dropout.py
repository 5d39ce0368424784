"""Feature dropout (Gal & Ghahramani's embedding dropout, on features rather than words)."""

from torch import Tensor


def feature_dropout(weight: Tensor, rate: float, training: bool) -> Tensor:
    """Leave out whole features, that is rows of W, for a batch; the others grow to make up."""
    if not training or not rate:
        return weight
    return weight * weight.new_empty(len(weight), 1).bernoulli_(1 - rate).div_(1 - rate)
