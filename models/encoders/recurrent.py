"""Recurrent encoders: Elman, GRU and LSTM layers on top of each other."""

from itertools import pairwise

from torch import Tensor, nn

from accord.models.common.state import State
from accord.models.encoders.layers.in_parts import read_in_parts
from accord.models.encoders.layers.recurrent_layer import RecurrentLayer
from accord.models.encoders.variational_dropout import VariationalDropout


class Stacked(nn.Module):
    """Layers on top of each other, with variational dropout between them."""

    layers: nn.ModuleList
    dropout: VariationalDropout

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        after = []
        for number, (layer, before) in enumerate(zip(self.layers, state, strict=True)):
            inputs, layer_state = layer(self.dropout(inputs) if number else inputs, before)
            after.append(layer_state)
        return inputs, tuple(after)

    def initial_state(self, batch: int) -> State:
        return tuple(layer.initial_state(batch) for layer in self.layers)


class Recurrent(Stacked):
    """Layers of PyTorch's kernels, all of one kind."""

    cell: str
    in_parts = False  # whether they read a window at the same time in training, part by part

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        layers: int,
        dropout: float = 0.0,
        weight_dropout: float = 0.0,
    ):
        super().__init__()
        widths = [inputs, *[hidden] * (layers - 1), outputs]
        self.layers = nn.ModuleList(
            RecurrentLayer(self.cell, *pair, weight_dropout) for pair in pairwise(widths)
        )
        self.dropout = VariationalDropout(dropout)

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        if self.in_parts and self.training and len(self.layers) > 1:
            return read_in_parts(list(self.layers), self.dropout, inputs, state)
        return super().forward(inputs, state)


class Elman(Recurrent):
    """The simple recurrent network (Elman 1990): h_t = tanh(W·ψ_t + U·h_{t−1} + c)."""

    cell = "elman"


class GRU(Recurrent):
    """Gated recurrent units (Cho et al. 2014)."""

    cell = "gru"


class LSTM(Recurrent):
    """Long short-term memory (Hochreiter & Schmidhuber 1997)."""

    cell = "lstm"


class IRNN(Recurrent):
    """Rectified units that start as a memory (Le et al. 2015): h_t = relu(W·ψ_t + U·h_{t−1} + c),
    U = 1 at first.
    """

    cell = "irnn"
