"""Recurrent layers that read a window at the same time, each a part of it behind the one below.

On a GPU a layer is a chain of small kernels, a few for each word, and two chains side by side take
the time of the longer one. So a window is cut into parts, and while a layer reads one, the layer
above reads the part before; gradients go back in the same way. The sums are those of layers that
read one after the other.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from accord.models.common.kernels import another, current, on
from accord.models.common.state import State
from accord.models.encoders.layers.recurrent_layer import KernelInParts, RecurrentLayer, in_full_precision
from accord.models.encoders.layers.unrolled_lstm import UnrolledLSTM
from accord.models.encoders.variational_dropout import VariationalDropout

PARTS = 4  # of a window: each costs some kernels more, and the last one of a layer is waited for


def read_in_parts(
    layers: Sequence[RecurrentLayer], dropout: VariationalDropout, inputs: Tensor, state: State
) -> tuple[Tensor, State]:
    """Outputs of the last layer for inputs (T × B × E), and the state of all after them."""
    with in_full_precision(inputs.device.type):
        readers, scales = _drawn(layers, dropout, inputs)
        here = current(inputs.device)
        streams = [here, *(another(inputs.device, number) for number in range(1, len(layers)))]
        outputs, after = [], list(state)
        # All layers read a part before the first one reads the next: autograd goes back in the
        # order in which they were asked for, and would have the first one wait for all others.
        for part in readers[0].gates(inputs.to(layers[0].input_weight.dtype)).chunk(PARTS):
            for number, reader in enumerate(readers):
                given = part, scales[number], *after[number], *reader.weights
                with on(streams[number], streams[max(0, number - 1)], given):
                    if number > 0:
                        part = reader.gates(part * scales[number])
                    part, after[number] = reader(part, after[number])
            outputs.append(part)
        with on(here, streams[-1], (*outputs, *(each for of_layer in after for each in of_layer))):
            return torch.cat(outputs), tuple(after)


def _drawn(
    layers: Sequence[RecurrentLayer], dropout: VariationalDropout, inputs: Tensor
) -> tuple[list[UnrolledLSTM | KernelInParts], list[Tensor | None]]:
    """What a window drops: the layers with their weights, and by what their inputs are multiplied.

    They are drawn in the order in which layers that read one after the other draw them.
    """
    readers, scales = [layers[0].in_parts()], [None]
    for below, layer in pairwise(layers):
        ones = below.recurrent_weight.new_ones(1, inputs.shape[1], below.outputs)
        scales.append(dropout(ones))
        readers.append(layer.in_parts())
    return readers, scales
