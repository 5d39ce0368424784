"""What makes a GPU fast: streams beside each other, aligned products, fewer passes over scores.

A recurrent network is a long chain of small kernels that leave most of a GPU idle. What does not
depend on it costs no time beside it, nor does its gradient: autograd computes the gradient of each
operation on the stream of that operation. Recorded steps record all streams.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Generic, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

ALIGNED = 4  # numbers, of which the width of a matrix is a multiple for products in TF32
ALIGNED_ROWS = 8  # of which the number of rows is a multiple for fast products in bfloat16

Tensors = TypeVar("Tensors", bound=tuple[Tensor | None, ...])
Stream = torch.cuda.Stream | None  # none where there is no GPU


class Aside(Generic[Tensors]):
    """What `compute` makes of some tensors, on a GPU beside all that is computed until it is asked.

    Each function has a stream of its own. Weights are not read on it for the first time, but given
    as something that was computed from them: their gradients would be added up there instead of
    where the optimiser is.
    """

    def __init__(self, compute: Callable[..., Tensors], *given: Tensor):
        self.device = given[0].device
        self.stream = another(self.device, compute.__name__)
        with on(self.stream, current(self.device), given):
            self.computed = compute(*given)

    def __call__(self) -> Tensors:
        """It, for the stream that goes on with it."""
        with on(current(self.device), self.stream, self.computed):
            return self.computed


@contextmanager
def on(stream: Stream, after: Stream, given: Iterable[Tensor | None]) -> Iterator[None]:
    """Compute on a stream, once another one has computed what is given; without a GPU as usual.

    The memory of what is given is used for nothing else before the stream has read it.
    """
    if stream is None or after is None:
        yield
        return
    stream.wait_stream(after)
    for tensor in given:
        if tensor is not None:
            tensor.record_stream(stream)
    with torch.cuda.stream(stream):
        yield


def current(device: torch.device) -> Stream:
    return torch.cuda.current_stream(device) if device.type == "cuda" else None


@cache
def another(device: torch.device, name: str | int) -> Stream:
    """One beside the current one, always the same of each name."""
    return torch.cuda.Stream(device) if device.type == "cuda" else None


class BeforeState(NamedTuple):
    """What an output layer knows of signatures and targets before it has a state."""

    log_mass: Tensor  # log B_s(K)
    prior: Tensor  # the part of it that is trusted in every state: all of it without a gate
    evidence: Tensor | None  # the part that a gate weighs
    rows: Tensor  # Φ·W (S × H)
    bias: Tensor  # Φ·c (S)
    of_words: Tensor | None = None  # log b(K, x) of the words that are asked for: (N × M)


def side_by_side(weight: Tensor, bias: Tensor) -> Tensor:
    """W and c in one matrix, whose rows begin where a GPU's fast kernels want it."""
    copies = ALIGNED - weight.shape[1] % ALIGNED
    return torch.cat([weight, bias.unsqueeze(1).expand(-1, copies)], dim=1)


def apart(rows: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Of a product with both, that of W (S × H) and that of c (S)."""
    of_weight, of_bias, _ = rows.split([width, 1, rows.shape[1] - width - 1], dim=1)
    return of_weight, of_bias.squeeze(1)


def times_rows(h: Tensor, rows: Tensor) -> Tensor:
    """h·rowsᵀ (N × S), on a GPU by way of a few rows more, as its fast kernels want."""
    lacking = -len(rows) % ALIGNED_ROWS
    if not lacking or not h.is_cuda:
        return h @ rows.T
    return (h @ nn.functional.pad(rows, (0, 0, 0, lacking)).T)[:, : len(rows)]


def sum_of_rows(p: Tensor, rows: Tensor) -> Tensor:
    """p·rows (N × H) for weights p (N × S), by way of the same."""
    lacking = -len(rows) % ALIGNED_ROWS
    if not lacking or not p.is_cuda:
        return p @ rows
    return nn.functional.pad(p, (0, lacking)) @ nn.functional.pad(rows, (0, 0, 0, lacking))


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
