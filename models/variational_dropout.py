"""Variational dropout (Gal & Ghahramani 2016), the *locked* dropout of AWD-LSTM."""

from torch import Tensor, nn


class VariationalDropout(nn.Module):
    """Drop the same units at every time step of a sequence (T × B × D), others grow to make up."""

    def __init__(self, rate: float):
        super().__init__()
        self.rate = rate

    def forward(self, sequence: Tensor) -> Tensor:
        if not self.training or not self.rate:
            return sequence
        kept = 1 - self.rate
        return sequence * sequence.new_empty(1, *sequence.shape[1:]).bernoulli_(kept).div_(kept)
