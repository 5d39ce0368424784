"""A window of training read part by part, so that the layers of a stack compute concurrently.

On a GPU a layer is a chain of small kernels, a few for each word, and two concurrent chains take
the time of the longer one. So a window is cut into parts, and while a layer reads one, the layer
above reads the part before; gradients go back in the same way. The sums are those of layers that
read one after the other.
"""

from itertools import pairwise

import torch
from torch import Tensor

from accord.models.data import State
from accord.models.encoder import Recurrent, RecurrentLayer, Stacked, in_full_precision
from accord.models.gpu.kernels import current_stream, side_stream, use_stream
from accord.models.gpu.unrolled_lstm import UnrolledLSTM

PARTS = 4  # of a window: each costs some kernels more, and the last one of a layer is waited for


class KernelInParts:
    """A layer whose kernel reads the parts of one window, all with the same connections dropped."""

    def __init__(self, layer: RecurrentLayer):
        self.layer, self.weights = layer, layer.weights()

    def gates(self, inputs: Tensor) -> Tensor:
        """Return the inputs themselves: the kernel computes the gates."""
        return inputs

    def __call__(
        self, inputs: Tensor, state: tuple[Tensor, ...]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        return self.layer(inputs, state, self.weights)


def read_in_parts(encoder: Recurrent, inputs: Tensor, state: State) -> tuple[Tensor, State]:
    """Return the last layer's outputs for inputs (T × B × E), and the state of all layers.

    It is the `reader` of an encoder whose steps are recorded: it launches more kernels.
    """
    if len(encoder.layers) == 1:
        return Stacked.forward(encoder, inputs, state)
    with in_full_precision(inputs.device.type):
        readers, scales = _draw_dropout(encoder, inputs)
        main = current_stream(inputs.device)
        streams = [main, *(side_stream(inputs.device, n) for n in range(1, len(readers)))]
        outputs, states = [], list(state)
        # All layers read a part before the first one reads the next: autograd goes back in the
        # order of the calls, and would have the first one wait for all others.
        for part in readers[0].gates(inputs.to(readers[0].weights[0].dtype)).chunk(PARTS):
            for number, reader in enumerate(readers):
                scale = scales[number]
                tensors = part, scale, *states[number], *reader.weights
                with use_stream(streams[number], streams[max(0, number - 1)], tensors):
                    if scale is not None:
                        part = reader.gates(part * scale)
                    part, states[number] = reader(part, states[number])
            outputs.append(part)
        results = *outputs, *(tensor for layer_state in states for tensor in layer_state)
        with use_stream(main, streams[-1], results):
            return torch.cat(outputs), tuple(states)


def unrolls(layer: RecurrentLayer) -> bool:
    """Return whether parts of a window are read word by word."""
    return layer.name == "lstm" and layer.recurrent_weight.is_cuda


def _draw_dropout(
    encoder: Recurrent, inputs: Tensor
) -> tuple[list[UnrolledLSTM | KernelInParts], list[Tensor | None]]:
    """Draw the dropout of a window; return the layers' readers and the factors of their inputs.

    The order is that of layers which read one after the other. The first layer's inputs have no
    factors: they have been dropped before.
    """
    layers = list(encoder.layers)
    readers = [_reader(layers[0])]
    scales: list[Tensor | None] = [None]
    for below, layer in pairwise(layers):
        ones = below.recurrent_weight.new_ones(1, inputs.shape[1], below.outputs)
        scales.append(encoder.dropout(ones))
        readers.append(_reader(layer))
    return readers, scales


def _reader(layer: RecurrentLayer) -> UnrolledLSTM | KernelInParts:
    return UnrolledLSTM(*layer.dropped_weights()) if unrolls(layer) else KernelInParts(layer)
