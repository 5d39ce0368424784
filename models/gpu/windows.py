"""A window of training read part by part, so that the layers of a stack compute concurrently.

On a GPU a layer is a chain of small kernels, a few for each word, and two concurrent chains take
the time of the longer one. So a window is cut into parts, and while a layer reads one, the layer
above reads the part before; gradients go back in the same way. The sums are those of layers that
read one after the other.
"""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from accord.models.data import State
from accord.models.encoder import Recurrent, RecurrentLayer, Stacked, in_full_precision
from accord.models.gpu.kernels import current_stream, side_stream, use_stream

PARTS = 4  # of a window: each costs some kernels more, and the last one of a layer is waited for
PIECES = 8  # of the 4H numbers; products in TF32 need widths that are multiples of 4
cell = torch.ops.aten._thnn_fused_lstm_cell  # one kernel each, on a GPU only
cell_backward = torch.ops.aten._thnn_fused_lstm_cell_backward_impl


class UnrolledLSTM:
    """An LSTM word by word, whose gradient through time keeps more of a GPU busy than cuDNN's.

    The gradient goes back from word to word by a product (B × 4H)·(4H × H): few numbers, each a
    long sum, for which cuDNN uses a few of a GPU's processors. Here the sum is cut into pieces that
    are summed concurrently. Each kernel is launched by itself, so this is for recorded steps. The
    weights are those of one window, in PyTorch's order.

    `gates` computes the part of the gates that depends on the inputs, for a window or a part of it.
    The calls that follow read its parts one after the other. So no word waits for the gradients of
    weights, which are products over all words of one call of `gates`.
    """

    def __init__(self, read: Tensor, recurrent: Tensor, bias: Tensor, recurrent_bias: Tensor):
        # Views, whose gradients accumulate on the stream of this line, and no parameters.
        self.read, self.recurrent = read.view_as(read), recurrent.view_as(recurrent)
        self.bias = bias + recurrent_bias
        self.weights = self.read, self.recurrent, self.bias
        self.states: list[Tensor] = []  # before each word, of every part

    def gates(self, inputs: Tensor) -> Tensor:
        """Return the part of the gates that depends on the inputs: (T × B × 4H)."""
        self.states = []
        return _Gates.apply(inputs, self.read, self.bias, self.recurrent, self.states)

    def __call__(
        self, gates: Tensor, state: tuple[Tensor, ...]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the outputs (T × B × H) and the state after them."""
        h, c = (part.squeeze(0) for part in state)
        outputs, h, c = _Unrolled.apply(gates, h, c, self.recurrent.detach(), self.states)
        return outputs, (h.unsqueeze(0), c.unsqueeze(0))


class _Gates(torch.autograd.Function):
    """A linear layer that also computes the gradient of the recurrent weights."""

    @staticmethod
    def forward(context, inputs, read, bias, recurrent, states):
        context.save_for_backward(inputs, read)
        context.states = states
        return nn.functional.linear(inputs, read, bias)

    @staticmethod
    @once_differentiable
    def backward(context, of_gates):
        inputs, read = context.saved_tensors
        of_gates = of_gates.flatten(0, 1)
        of_inputs = (of_gates @ read).view_as(inputs)
        of_read = of_gates.T @ inputs.flatten(0, 1)
        of_recurrent = of_gates.T @ torch.cat(context.states).flatten(0, 1)
        return of_inputs, of_read, of_gates.sum(dim=0), of_recurrent, None


class _Unrolled(torch.autograd.Function):
    """The words of a part, forwards one after the other, and backwards."""

    @staticmethod
    def forward(context, gates, h, c, recurrent, read_from):
        states, cells, activated = [h], [c], []
        for of_word in gates:
            h, c, active = cell(of_word, h @ recurrent.T, c)
            states.append(h)
            cells.append(c)
            activated.append(active)
        read_from.append(torch.stack(states[:-1]))
        context.save_for_backward(recurrent, *cells, *activated)
        return torch.stack(states[1:]), h, c

    @staticmethod
    @once_differentiable
    def backward(context, of_outputs, of_h, of_c):
        words, columns, size = of_outputs.shape
        recurrent, *rest = context.saved_tensors
        cells, activated = rest[: words + 1], rest[words + 1 :]
        pieces = PIECES if size % PIECES == 0 else 4
        matrices = recurrent.view(pieces, -1, size)
        # The gradient of each state: pieces from the next word, and that of the output.
        summed = of_outputs.new_zeros(words + 1, pieces + 1, columns, size)
        summed[1:, -1] = of_outputs
        summed[-1, 0] = of_h
        of_gates = []
        for word in reversed(range(words)):
            of_word, of_c, _ = cell_backward(
                summed[word + 1].sum(dim=0),
                of_c,
                cells[word],
                cells[word + 1],
                activated[word],
                False,  # without biases, which the gates have already
            )
            of_gates.append(of_word)
            in_pieces = of_word.view(columns, pieces, -1).transpose(0, 1)
            torch.bmm(in_pieces, matrices, out=summed[word, :-1])
        return torch.stack(of_gates[::-1]), summed[0].sum(dim=0), of_c, None, None


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
