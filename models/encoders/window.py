"""A feed-forward network over the last few words."""

from itertools import pairwise

import torch
from torch import Tensor, nn

from accord.models.common.state import State
from accord.models.encoders.variational_dropout import VariationalDropout


class Window(nn.Module):
    """The feed-forward model of Bengio et al. (2003): h_t sees the last inputs only."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        layers: int,
        dropout: float = 0.0,
        *,
        order: int = 4,  # words that are read, the last one included
    ):
        super().__init__()
        if order < 1:
            raise ValueError(f"encoder: window.order: expected 1 or more, got {order}")
        self.inputs, self.order = inputs, order
        widths = [order * inputs, *[hidden] * (layers - 1), outputs]
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(widths))
        self.dropout = VariationalDropout(dropout)

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        seen = torch.cat([state[0][0], inputs])
        outputs = seen.unfold(0, self.order, 1).flatten(start_dim=2)
        for number, layer in enumerate(self.layers):
            outputs = layer(self.dropout(outputs) if number else outputs).tanh()
        return outputs, ((seen[len(seen) - self.order + 1 :],),)

    def initial_state(self, batch: int) -> State:
        return ((self.layers[0].weight.new_zeros(self.order - 1, batch, self.inputs),),)
