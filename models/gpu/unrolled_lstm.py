"""An LSTM word by word, whose gradient through time keeps more of a GPU busy than cuDNN's.

The gradient goes back from word to word by a product (B × 4H)·(4H × H): few numbers, each a long
sum, for which cuDNN uses a few of a GPU's processors. Here the sum is cut into pieces that are
summed concurrently. Each kernel is launched by itself, so this is for recorded steps.
"""

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

PIECES = 8  # of the 4H numbers; products in TF32 need widths that are multiples of 4
cell = torch.ops.aten._thnn_fused_lstm_cell  # one kernel each, on a GPU only
cell_backward = torch.ops.aten._thnn_fused_lstm_cell_backward_impl


class UnrolledLSTM:
    """A layer with the weights of one window, in PyTorch's order.

    `gates` computes the part of the gates that depends on the inputs, for a window or a part of it.
    The calls that follow read its parts one after the other. So no word waits for the gradients of
    weights, which are products over all words of one call of `gates`.
    """

    def __init__(self, read: Tensor, recurrent: Tensor, bias: Tensor, recurrent_bias: Tensor):
        # Views, whose gradients accumulate on the stream of this line, and no parameters.
        self.read, self.recurrent = read.view_as(read), recurrent.view_as(recurrent)
        self.bias = bias + recurrent_bias
        self.weights = self.read, self.recurrent, self.bias
        self.before: list[Tensor] = []  # the state before each word, of every part

    def gates(self, inputs: Tensor) -> Tensor:
        """Return the part of the gates that depends on the inputs: (T × B × 4H)."""
        self.before = []
        return _Gates.apply(inputs, self.read, self.bias, self.recurrent, self.before)

    def __call__(
        self, gates: Tensor, state: tuple[Tensor, ...]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the outputs (T × B × H) and the state after them."""
        h, c = (part.squeeze(0) for part in state)
        outputs, h, c = _Unrolled.apply(gates, h, c, self.recurrent.detach(), self.before)
        return outputs, (h.unsqueeze(0), c.unsqueeze(0))


class _Gates(torch.autograd.Function):
    """A linear layer that also computes the gradient of the recurrent weights."""

    @staticmethod
    def forward(context, inputs, read, bias, recurrent, before):
        context.save_for_backward(inputs, read)
        context.before = before
        return nn.functional.linear(inputs, read, bias)

    @staticmethod
    @once_differentiable
    def backward(context, of_gates):
        inputs, read = context.saved_tensors
        of_gates = of_gates.flatten(0, 1)
        of_inputs = (of_gates @ read).view_as(inputs)
        of_read = of_gates.T @ inputs.flatten(0, 1)
        of_recurrent = of_gates.T @ torch.cat(context.before).flatten(0, 1)
        return of_inputs, of_read, of_gates.sum(dim=0), of_recurrent, None


class _Unrolled(torch.autograd.Function):
    """The words of a part, forwards one after the other, and backwards."""

    @staticmethod
    def forward(context, gates, h, c, recurrent, before):
        states, cells, activated = [h], [c], []
        for of_word in gates:
            h, c, active = cell(of_word, h @ recurrent.T, c)
            states.append(h)
            cells.append(c)
            activated.append(active)
        before.append(torch.stack(states[:-1]))
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
