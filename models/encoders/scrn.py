"""Slow units beside fast ones: the structurally constrained recurrent network."""

from itertools import pairwise

import torch
from torch import Tensor, nn

from accord.models.encoders.layers.recurrent_layer import RecurrentLayer
from accord.models.encoders.recurrent import Stacked
from accord.models.encoders.variational_dropout import VariationalDropout


class SCRN(Stacked):
    """Slow context units beside Elman's (Mikolov et al. 2015).

        s_t = (1 − α)·B·ψ_t + α·s_{t−1}
        z_t = tanh(A·ψ_t + P·s_t + R·z_{t−1} + c),    h_t = U·z_t + V·s_t

    s is a mean of what was read that fades by α, which is not learned: what it holds of a word is
    there after a hundred others, and its gradient does not vanish faster than that.
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        layers: int,
        dropout: float = 0.0,
        weight_dropout: float = 0.0,
        *,
        slow: int = 40,  # units of the slow context
        alpha: float = 0.95,  # how much of it is kept from word to word
    ):
        super().__init__()
        if slow < 1:
            raise ValueError(f"encoder: scrn.slow: expected 1 or more, got {slow}")
        if not 0 <= alpha < 1:
            raise ValueError(f"encoder: scrn.alpha: expected from 0 to under 1, got {alpha}")
        widths = [inputs, *[hidden] * (layers - 1), outputs]
        self.layers = nn.ModuleList(
            _Layer(read, hidden, out, weight_dropout, slow, alpha) for read, out in pairwise(widths)
        )
        self.dropout = VariationalDropout(dropout)


class _Layer(nn.Module):
    def __init__(self, inputs, hidden, outputs, weight_dropout: float, slow: int, alpha: float):
        super().__init__()
        self.alpha = alpha
        self.into_slow = nn.Linear(inputs, slow, bias=False)
        self.fast = RecurrentLayer("elman", inputs + slow, hidden, weight_dropout)
        self.out = nn.Linear(hidden + slow, outputs)

    def forward(
        self, inputs: Tensor, state: tuple[Tensor, ...]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        before, *fast = state
        inputs = inputs.to(before.dtype)  # which autocast may have made another, below
        slow = self._slow(inputs, before).to(before.dtype)
        z, fast = self.fast(torch.cat([inputs, slow], dim=-1), tuple(fast))
        h = self.out(torch.cat([z, slow.to(z.dtype)], dim=-1))
        return h, (slow[-1:], *fast)

    def _slow(self, inputs: Tensor, before: Tensor) -> Tensor:
        """All steps at once, each input weighed by its age: (T × B × slow)."""
        read = (1 - self.alpha) * self.into_slow(inputs)
        step = torch.arange(len(inputs), device=inputs.device)
        age = step.unsqueeze(1) - step
        weight = (self.alpha ** age.clamp(min=0)).tril().to(read.dtype)
        kept = self.alpha ** (step + 1).view(-1, 1, 1)
        return torch.einsum("ts,sbu->tbu", weight, read) + kept * before

    def initial_state(self, batch: int) -> tuple[Tensor, ...]:
        weight = self.into_slow.weight
        return weight.new_zeros(1, batch, len(weight)), *self.fast.initial_state(batch)
