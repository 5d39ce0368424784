"""The Mogrifier LSTM (Melis et al. 2020): input and state gate each other before each step."""

from itertools import pairwise

import torch
from torch import Tensor, nn

from accord.models.encoders.recurrent import Stacked
from accord.models.encoders.variational_dropout import VariationalDropout

MOST_ROUNDS = 100  # the paper's best are five or six; a folder from elsewhere may ask for any


class Mogrifier(Stacked):
    """An LSTM whose input and state gate each other in rounds before each step.

    With x⁻¹ = ψ_t and h⁰ = h_{t−1}, for i = 1, 2… rounds

        x^i = 2σ(Q^i·h^{i−1}) ⊙ x^{i−2}  for odd i,    h^i = 2σ(R^i·x^{i−1}) ⊙ h^{i−2}  for even i

    and the LSTM reads the last x and h. Without rounds it is the LSTM.
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
        rounds: int = 5,  # of gating, input and state in turn
    ):
        super().__init__()
        if not 0 <= rounds <= MOST_ROUNDS:
            raise ValueError(
                f"encoder: mogrifier.rounds: expected 0 to {MOST_ROUNDS}, got {rounds:,}"
            )
        widths = [inputs, *[hidden] * (layers - 1), outputs]
        self.layers = nn.ModuleList(
            _Layer(*pair, rounds, weight_dropout) for pair in pairwise(widths)
        )
        self.dropout = VariationalDropout(dropout)


class _Layer(nn.Module):
    """One layer, step by step, as no fused kernel lets the input see the state."""

    def __init__(self, inputs: int, outputs: int, rounds: int, weight_dropout: float):
        super().__init__()
        self.outputs, self.weight_dropout = outputs, weight_dropout
        self.cell = nn.LSTMCell(inputs, outputs)
        sizes = [
            (outputs, inputs) if number % 2 == 0 else (inputs, outputs) for number in range(rounds)
        ]
        self.gates = nn.ModuleList(nn.Linear(*size) for size in sizes)

    def forward(
        self, inputs: Tensor, state: tuple[Tensor, ...]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        recurrent = nn.functional.dropout(self.cell.weight_hh, self.weight_dropout, self.training)
        (h,), (c,) = state
        outputs = []
        for x in inputs:
            h, c = self._step(x, h, c, recurrent)
            outputs.append(h)
        return torch.stack(outputs), (h.unsqueeze(0), c.unsqueeze(0))

    def _step(self, x: Tensor, h: Tensor, c: Tensor, recurrent: Tensor) -> tuple[Tensor, Tensor]:
        for number, gate in enumerate(self.gates):
            if number % 2:
                h = 2 * gate(x).sigmoid() * h
            else:
                x = 2 * gate(h).sigmoid() * x
        cell = self.cell
        return torch.lstm_cell(x, (h, c), cell.weight_ih, recurrent, cell.bias_ih, cell.bias_hh)

    def initial_state(self, batch: int) -> tuple[Tensor, ...]:
        zeros = self.cell.weight_hh.new_zeros(1, batch, self.outputs)
        return zeros, zeros
