"""Variational dropout (Gal & Ghahramani 2016), the *locked* dropout of AWD-LSTM."""

from torch import Tensor, nn

from accord.models.common.share import Share


class VariationalDropout(nn.Module):
    """Drop the same units at every time step of a sequence (T × B × D), others grow to make up.

    With `every_step`, each step drops units of its own: the dropout of Srivastava et al. (2014).
    """

    def __init__(self, rate: float, every_step: bool = False):
        super().__init__()
        self.rate, self.every_step = rate, every_step
        self.share: Share | None = None

    def forward(self, sequence: Tensor) -> Tensor:
        if not self.training or not self.rate:
            return sequence
        kept = 1 - self.rate
        steps, columns, units = sequence.shape
        shape = steps if self.every_step else 1, self.share.of if self.share else columns, units
        scale = sequence.new_empty(shape).bernoulli_(kept).div_(kept)
        return sequence * (scale[:, self.share.columns] if self.share else scale)
