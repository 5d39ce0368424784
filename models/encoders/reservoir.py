"""An echo-state reservoir (Jaeger 2001): a random recurrent net that stays as it is."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from accord.models.encoders.layers.recurrent_layer import RecurrentLayer
from accord.models.encoders.variational_dropout import VariationalDropout

RADIUS = 0.95  # of the spectrum: below 1 the state forgets how it began
CONNECTIONS = 10  # that a unit has from others


class Reservoir(nn.Module):
    """A recurrent net that is drawn and not trained, but for the readout from its states.

        x_t = tanh(W_in·ψ_t + W·x_{t−1}),    h_t = R·x_t,    W sparse, of spectral radius below 1

    W_in and W are drawn and never trained, and no gradient reaches ψ through them: only the
    readout R and what comes after it learn. ψ is brought to one scale. Of several reservoirs
    each reads the states of the one below, and R reads all.
    """

    def __init__(self, inputs: int, hidden: int, outputs: int, layers: int, dropout: float = 0.0):
        super().__init__()
        widths = [inputs, *[hidden] * (layers - 1)]
        self.layers = nn.ModuleList(RecurrentLayer("elman", width, hidden) for width in widths)
        for layer in self.layers:
            layer.requires_grad_(False)
            layer.recurrent_weight.copy_(_sparse(hidden))
            for weight in (layer.input_weight, layer.input_bias):
                weight.normal_(std=1 if weight.ndim == 1 else weight.shape[1] ** -0.5)
            layer.recurrent_bias.zero_()
        self.dropout = VariationalDropout(dropout, every_step=True)
        self.readout = nn.Linear(layers * hidden, outputs)

    def forward(self, inputs: Tensor, state) -> tuple[Tensor, tuple]:
        states, after = [functional.rms_norm(inputs.detach(), inputs.shape[-1:])], []
        with torch.no_grad():
            for layer, before in zip(self.layers, state, strict=True):
                outputs, layer_state = layer(states[-1], before)
                states.append(outputs)
                after.append(layer_state)
        return self.readout(self.dropout(torch.cat(states[1:], dim=-1))), tuple(after)

    def initial_state(self, batch: int) -> tuple:
        return tuple(layer.initial_state(batch) for layer in self.layers)


def _sparse(units: int) -> Tensor:
    """A random sparse matrix whose spectral radius is at most RADIUS, and hardly less."""
    present = torch.rand(units, units) < CONNECTIONS / units
    matrix = torch.randn(units, units) * present * CONNECTIONS**-0.5
    # ‖W^k‖^(1/k) bounds the radius from above, and comes down to it as k grows: here to 64.
    norm = torch.linalg.matrix_norm(matrix)
    power, log_bound = matrix / norm, norm.log()
    for doubled in range(1, 7):
        power = power @ power
        norm = torch.linalg.matrix_norm(power)
        power, log_bound = power / norm, log_bound + norm.log() / 2**doubled
    return matrix * (RADIUS / log_bound.exp())
