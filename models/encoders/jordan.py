"""A network whose memory is what it last put out (Jordan 1986)."""

from itertools import pairwise

import torch
from torch import Tensor, nn

from accord.models.encoders.recurrent import Stacked
from accord.models.encoders.variational_dropout import VariationalDropout


class Jordan(Stacked):
    """Recurrence from the output: z_t = tanh(W·ψ_t + U·h_{t−1} + c), h_t = V·z_t.

    Where Elman's network remembers its hidden units z, this one remembers only what it said, h;
    V is what the output layer compares words with, or what the next layer reads.
    """

    def __init__(self, inputs: int, hidden: int, outputs: int, layers: int, dropout: float = 0.0):
        super().__init__()
        widths = [inputs, *[hidden] * (layers - 1), outputs]
        self.layers = nn.ModuleList(_Layer(read, hidden, said) for read, said in pairwise(widths))
        self.dropout = VariationalDropout(dropout)


class _Layer(nn.Module):
    def __init__(self, inputs: int, hidden: int, outputs: int):
        super().__init__()
        self.read = nn.Linear(inputs, hidden)
        self.back = nn.Linear(outputs, hidden, bias=False)
        self.said = nn.Linear(hidden, outputs)

    def forward(self, inputs: Tensor, state: tuple[Tensor]) -> tuple[Tensor, tuple[Tensor]]:
        said, outputs = state[0][0], []
        for read in self.read(inputs):
            said = self.said((read + self.back(said)).tanh())
            outputs.append(said)
        return torch.stack(outputs), (said.unsqueeze(0),)

    def initial_state(self, batch: int) -> tuple[Tensor]:
        return (self.said.weight.new_zeros(1, batch, self.said.out_features),)
