"""Elman, GRU, LSTM and IRNN encoders, their layers, weight dropout and variational dropout.

On a GPU a layer is a chain of small kernels, a few for each word, and two chains side by side take
the time of the longer one. So a window is cut into parts, and while a layer reads one, the layer
above reads the part before; gradients go back in the same way. The sums are those of layers that
read one after the other.
"""

import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, ClassVar, Generic, TypeVar, cast

import torch
from torch import Tensor, nn

from accord.models.data import ColumnShare, State
from accord.models.gpu.kernels import current_stream, side_stream, use_stream
from accord.models.gpu.unrolled_lstm import UnrolledLSTM

IRNN_INPUT = 0.001  # deviation of the first weights of what is read (Le et al. 2015)
SINGLE = (True, 1, 0.0)  # with biases, one layer, no dropout between layers
ON_ARM = platform.machine().lower() in ("aarch64", "arm64")


class StackedLayer(nn.Module):
    """The interface of a layer of a stack, beside `forward`."""

    def initial_state(self, batch: int) -> tuple[Tensor, ...]:
        """The state before a text, for so many columns."""
        raise NotImplementedError


Layer = TypeVar("Layer", bound=nn.Module, covariant=True)


class Layers(nn.ModuleList, Generic[Layer]):
    """A list of modules of one type; torch's own list forgets the type."""

    def __iter__(self) -> Iterator[Layer]:
        return cast("Iterator[Layer]", super().__iter__())


class RecurrentLayer(StackedLayer):
    """One layer of PyTorch's fused kernels, with dropout on the recurrent weights.

    Weight dropout (Merity et al. 2018) drops connections from state to state, the same ones for
    a whole sequence, before the kernel sees the matrix: the kernel stays the fused one.
    """

    kernels: ClassVar[dict[str, Callable[..., Any]]] = {
        "elman": torch.rnn_tanh,
        "irnn": torch.rnn_relu,
        "gru": torch.gru,
        "lstm": torch.lstm,
    }
    gates: ClassVar[dict[str, int]] = {"elman": 1, "irnn": 1, "gru": 3, "lstm": 4}

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
            inputs, *before = (each.to(self.recurrent_weight.dtype) for each in (inputs, *state))
            outputs, *after = self.kernels[self.name](
                inputs,
                before if self.name == "lstm" else before[0],
                weights or self.weights(),
                *SINGLE,
                self.training,
                False,  # one direction
                False,  # time first
            )
        return outputs, tuple(after)

    def packed(self, inputs: Tensor, sizes: Tensor, state: Tensor) -> Tensor:
        """The same for sequences of many lengths, the longest first; only real steps are computed.

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
        """The layer for reading one window part by part, in recorded steps."""
        return UnrolledLSTM(*self._dropped()) if self.unrolls else KernelInParts(self)

    @property
    def unrolls(self) -> bool:
        """Whether parts of a window are read word by word."""
        return self.name == "lstm" and self.recurrent_weight.is_cuda

    def weights(self) -> list[Tensor]:
        """The weights for the kernel, without the connections that are dropped in a sequence."""
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
        """The inputs themselves: the kernel computes the gates."""
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
    torch.backends.mkldnn.enabled = before and not ON_ARM  # type: ignore[assignment]  # a property
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


class VariationalDropout(nn.Module):
    """Drop the same units at every time step of a sequence (T × B × D), and scale up the others.

    With `every_step`, each step drops units of its own: the dropout of Srivastava et al. (2014).
    """

    def __init__(self, rate: float, every_step: bool = False):
        super().__init__()
        self.rate, self.every_step = rate, every_step
        self.share: ColumnShare | None = None

    def forward(self, sequence: Tensor) -> Tensor:
        if not self.training or not self.rate:
            return sequence
        kept = 1 - self.rate
        steps, columns, units = sequence.shape
        shape = steps if self.every_step else 1, self.share.of if self.share else columns, units
        scale = sequence.new_empty(shape).bernoulli_(kept).div_(kept)
        return sequence * (scale[:, self.share.columns] if self.share else scale)


PARTS = 4  # of a window: each costs some kernels more, and the last one of a layer is waited for


def read_in_parts(
    layers: Sequence[RecurrentLayer], dropout: VariationalDropout, inputs: Tensor, state: State
) -> tuple[Tensor, State]:
    """Outputs of the last layer for inputs (T × B × E), and the state of all after them."""
    with in_full_precision(inputs.device.type):
        readers, scales = _drawn(layers, dropout, inputs)
        here = current_stream(inputs.device)
        streams = [here, *(side_stream(inputs.device, number) for number in range(1, len(layers)))]
        outputs, after = [], list(state)
        # All layers read a part before the first one reads the next: autograd goes back in the
        # order in which they were asked for, and would have the first one wait for all others.
        for part in readers[0].gates(inputs.to(layers[0].input_weight.dtype)).chunk(PARTS):
            for number, reader in enumerate(readers):
                scale = scales[number]
                given = part, scale, *after[number], *reader.weights
                with use_stream(streams[number], streams[max(0, number - 1)], given):
                    if scale is not None:
                        part = reader.gates(part * scale)
                    part, after[number] = reader(part, after[number])
            outputs.append(part)
        with use_stream(
            here, streams[-1], (*outputs, *(each for of_layer in after for each in of_layer))
        ):
            return torch.cat(outputs), tuple(after)


def _drawn(
    layers: Sequence[RecurrentLayer], dropout: VariationalDropout, inputs: Tensor
) -> tuple[list[UnrolledLSTM | KernelInParts], list[Tensor | None]]:
    """The dropout of a window: the layers with their weights, and the factors of their inputs.

    They are drawn in the order in which layers that read one after the other draw them. The first
    layer's inputs are not multiplied: they have been dropped before.
    """
    readers = [layers[0].in_parts()]
    scales: list[Tensor | None] = [None]
    for below, layer in pairwise(layers):
        ones = below.recurrent_weight.new_ones(1, inputs.shape[1], below.outputs)
        scales.append(dropout(ones))
        readers.append(layer.in_parts())
    return readers, scales


class Encoder(nn.Module):
    """From inputs (T × B × E) and a state to outputs (T × B × H) and the state after them."""

    has_fixed_shapes = True  # whether a GPU need not know the words to compute a step

    def initial_state(self, batch: int) -> State:
        """The state before a text, for so many columns."""
        raise NotImplementedError


class Stacked(Encoder):
    """Layers on top of each other, with variational dropout between them."""

    layers: Layers[StackedLayer]
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
    layers: Layers[RecurrentLayer]
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
        self.layers = Layers(
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
