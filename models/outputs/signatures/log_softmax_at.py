"""The log-probabilities of a few classes among many, with fewer passes over all of them."""

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def log_softmax_at(logits: Tensor, classes: Tensor) -> Tensor:
    """`logits.log_softmax(dim=1).gather(1, classes)`: (N × M), of logits (N × C)."""
    return _LogSoftmaxAt.apply(logits, classes)


class _LogSoftmaxAt(torch.autograd.Function):
    """log p_c = z_c − log Z, whose gradient on all logits is g at c, less Σg·p.

    PyTorch would fill a matrix with the zeros of the gradient and read it again. Here p is kept,
    and each direction writes one matrix.
    """

    @staticmethod
    def forward(context, logits, classes):
        p = logits.softmax(dim=1)
        # By the likeliest class, whose p is never too small for its logarithm.
        log_z = logits.amax(dim=1, keepdim=True) - p.amax(dim=1, keepdim=True).log()
        context.save_for_backward(p, classes)
        return logits.gather(1, classes) - log_z

    @staticmethod
    @once_differentiable
    def backward(context, gradient):
        p, classes = context.saved_tensors
        of_logits = p * -gradient.sum(dim=1, keepdim=True)
        return of_logits.scatter_add_(1, classes, gradient), None
