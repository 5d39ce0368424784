"""One recurrent layer with weight dropout (Merity et al. 2018)."""

import platform
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from accord.models.encoders.layers.unrolled_lstm import UnrolledLSTM

IRNN_INPUT = 0.001  # deviation of the first weights of what is read (Le et al. 2015)
SINGLE = (True, 1, 0.0)  # with biases, one layer, no dropout between layers
ON_ARM = platform.machine().lower() in ("aarch64", "arm64")


class RecurrentLayer(nn.Module):
    """One layer of PyTorch's fused kernels, with dropout on the recurrent weights.

    Weight dropout (Merity et al. 2018) drops connections from state to state, the same ones for
    a whole sequence, before the kernel sees the matrix: the kernel stays the fused one.
    """

    kernels = {  # noqa: RUF012
        "elman": torch.rnn_tanh,
        "irnn": torch.rnn_relu,
        "gru": torch.gru,
        "lstm": torch.lstm,
    }
    gates = {"elman": 1, "irnn": 1, "gru": 3, "lstm": 4}  # noqa: RUF012

    def __init__(self, name: str, inputs: int, outputs: int, weight_dropout: float = 0.0):
        super().__init__()
        self.name, self.outputs, self.weight_dropout = name, outputs, weight_dropout
        rows = self.gates[name] * outputs
        self.input_weight = nn.Parameter(torch.empty(rows, inputs))
        self.recurrent_weight = nn.Parameter(torch.empty(rows, outputs))
        self.input_bias = nn.Parameter(torch.empty(rows))
        self.recurrent_bias = nn.Parameter(torch.empty(rows))
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(outputs**-0.5), outputs**-0.5)
        if name == "irnn":  # as it was it stays, but for what is read
            nn.init.eye_(self.recurrent_weight)
            nn.init.zeros_(self.recurrent_bias)
            nn.init.zeros_(self.input_bias)
            nn.init.normal_(self.input_weight, std=IRNN_INPUT)

    def forward(
        self, inputs: Tensor, state: tuple[Tensor, ...], weights: list[Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Outputs and state. Parts of one sequence are read with the same `weights`."""
        with in_full_precision(inputs.device.type):
            inputs, *state = (each.to(self.recurrent_weight.dtype) for each in (inputs, *state))
            outputs, *state = self.kernels[self.name](
                inputs,
                state if self.name == "lstm" else state[0],
                weights or self.weights(),
                *SINGLE,
                self.training,
                False,  # one direction
                False,  # time first
            )
        return outputs, tuple(state)

    def packed(self, inputs: Tensor, sizes: Tensor, state: Tensor) -> Tensor:
        """The same of sequences of many lengths, the longest first, at the price of their steps.

        The inputs (N × E) are those of all first steps, of all second ones and so on, of which
        `sizes` has the numbers. Not for an LSTM, which has two states.
        """
        with in_full_precision(inputs.device.type):
            inputs, state = (each.to(self.recurrent_weight.dtype) for each in (inputs, state))
            weights = self.weights()
            return self.kernels[self.name](
                inputs, sizes, state, weights, *SINGLE, self.training, False
            )[0]

    def in_parts(self) -> "UnrolledLSTM | KernelInParts":
        """The layer as it reads one window part by part, in steps that are recorded."""
        return UnrolledLSTM(*self._dropped()) if self.unrolls else KernelInParts(self)

    @property
    def unrolls(self) -> bool:
        """Whether parts of a window are read word by word."""
        return self.name == "lstm" and self.recurrent_weight.is_cuda

    def weights(self) -> list[Tensor]:
        """As the kernel reads them, less the connections that are dropped in a sequence."""
        weights = self._dropped()
        return _in_one_piece(weights) if self.recurrent_weight.is_cuda else weights

    def _dropped(self) -> list[Tensor]:
        recurrent = nn.functional.dropout(self.recurrent_weight, self.weight_dropout, self.training)
        return [self.input_weight, recurrent, self.input_bias, self.recurrent_bias]

    def initial_state(self, batch: int) -> tuple[Tensor, ...]:
        zeros = self.recurrent_weight.new_zeros(1, batch, self.outputs)
        return (zeros, zeros) if self.name == "lstm" else (zeros,)


class KernelInParts:
    """A layer whose kernel reads the parts of one window, all with the same connections dropped."""

    def __init__(self, layer: RecurrentLayer):
        self.layer, self.weights = layer, layer.weights()

    def gates(self, inputs: Tensor) -> Tensor:
        """What is read: the kernel computes gates by itself."""
        return inputs

    def __call__(
        self, inputs: Tensor, state: tuple[Tensor, ...]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        return self.layer(inputs, state, self.weights)


@contextmanager
def in_full_precision(device: str) -> Iterator[None]:
    """Kernels in the precision of the weights, whatever autocast asks for.

    On a GPU it would make the recurrence float16 even where it is asked for bfloat16, and gradients
    through time leave the range of float16; on a CPU not every kernel has bfloat16. And oneDNN,
    which PyTorch prefers there, has none made for ARM, where its own are up to twice as fast.
    """
    before = torch.backends.mkldnn.enabled
    torch.backends.mkldnn.enabled = before and not ON_ARM
    try:
        with torch.autocast(device, enabled=False):
            yield
    finally:
        torch.backends.mkldnn.enabled = before


def _in_one_piece(weights: list[Tensor]) -> list[Tensor]:
    """The same weights side by side in memory: cuDNN's kernels copy them there otherwise."""
    sizes = [weight.numel() for weight in weights]
    pieces = torch.cat([weight.flatten() for weight in weights]).split(sizes)
    return [piece.view_as(weight) for piece, weight in zip(pieces, weights, strict=True)]
