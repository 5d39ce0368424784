"""Variational dropout (Gal & Ghahramani 2016), the *locked* dropout of AWD-LSTM."""

from typing import TYPE_CHECKING

from torch import Tensor, nn

if TYPE_CHECKING:
    from models.processes import Share


class VariationalDropout(nn.Module):
    """Drop the same units at every time step of a sequence (T × B × D), others grow to make up."""

    def __init__(self, rate: float):
        super().__init__()
        self.rate = rate
        self.share: Share | None = None  # which columns of a batch pass here, where not all do

    def forward(self, sequence: Tensor) -> Tensor:
        if not self.training or not self.rate:
            return sequence
        kept = 1 - self.rate
        columns = self.share.of if self.share else sequence.shape[1]
        scale = sequence.new_empty(1, columns, sequence.shape[2]).bernoulli_(kept).div_(kept)
        return sequence * (scale[:, self.share.columns] if self.share else scale)
