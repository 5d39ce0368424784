"""Streams, aligned matrices and gradients of their own: they keep a GPU busy.

A recurrent network is a long chain of small kernels that leave most of a GPU idle. Work that does
not depend on this chain costs no time in parallel to it, and neither does its gradient: autograd
computes the gradient of each operation on the stream of that operation. Recorded steps record all
streams.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

ALIGNED = 4  # products in TF32 need matrices whose width is a multiple of it
COMPILED_ROWS = 128  # the same for the gradient of such a product
ALIGNED_ROWS = 8  # fast products in bfloat16 need a number of rows that is a multiple of it

Tensors = TypeVar("Tensors", bound=tuple[Tensor | None, ...])
Stream = torch.cuda.Stream | None  # None without a GPU


class Concurrent(Generic[Tensors]):
    """`compute` applied to some tensors, on a stream of its own; call it for the result.

    Each function has one stream. Pass a view of a parameter instead of the parameter: the gradient
    of a leaf accumulates on the stream of its first use, which must be the optimiser's.
    """

    def __init__(self, compute: Callable[..., Tensors], *inputs: Tensor):
        self.device = inputs[0].device
        self.stream = side_stream(self.device, compute.__name__)
        with use_stream(self.stream, current_stream(self.device), inputs):
            self.results = compute(*inputs)

    def __call__(self) -> Tensors:
        """Return the result, for use on the current stream."""
        with use_stream(current_stream(self.device), self.stream, self.results):
            return self.results


@contextmanager
def use_stream(stream: Stream, producer: Stream, inputs: Iterable[Tensor | None]) -> Iterator[None]:
    """Compute on a stream once the producer has computed the inputs; do nothing without a GPU.

    The memory of the inputs is not reused before the stream has read it.
    """
    if stream is None or producer is None:
        yield
        return
    stream.wait_stream(producer)
    for tensor in inputs:
        if tensor is not None:
            tensor.record_stream(stream)
    with torch.cuda.stream(stream):
        yield


def current_stream(device: torch.device) -> Stream:
    """Return the stream in use, None without a GPU."""
    return torch.cuda.current_stream(device) if device.type == "cuda" else None


@cache
def side_stream(device: torch.device, name: str | int) -> Stream:
    """Return the further stream of this name, None without a GPU."""
    return torch.cuda.Stream(device) if device.type == "cuda" else None


def join_bias(weight: Tensor, bias: Tensor) -> Tensor:
    """Append c to W as further columns, so many that the width is aligned."""
    copies = ALIGNED - weight.shape[1] % ALIGNED
    return torch.cat([weight, bias.unsqueeze(1).expand(-1, copies)], dim=1)


def split_bias(rows: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Split Φ times the joined matrix into Φ·W (S × H) and Φ·c (S)."""
    of_weight, of_bias, _ = rows.split([width, 1, rows.shape[1] - width - 1], dim=1)
    return of_weight, of_bias.squeeze(1)


def times_rows(h: Tensor, rows: Tensor) -> Tensor:
    """Return h·rowsᵀ (N × S); on a GPU the rows are padded to an aligned number."""
    missing = -len(rows) % ALIGNED_ROWS
    if not missing or not h.is_cuda:
        return h @ rows.T
    return (h @ nn.functional.pad(rows, (0, 0, 0, missing)).T)[:, : len(rows)]


def sum_of_rows(p: Tensor, rows: Tensor) -> Tensor:
    """Return p·rows (N × H) for weights p (N × S), padded in the same way."""
    missing = -len(rows) % ALIGNED_ROWS
    if not missing or not p.is_cuda:
        return p @ rows
    return nn.functional.pad(p, (0, missing)) @ nn.functional.pad(rows, (0, 0, 0, missing))


def nats_of_classes(h: Tensor, rows: Tensor, bias: Tensor, classes: Tensor) -> Tensor:
    """Return the mean of −log p of a class in each state. Compiled, it keeps no scores but once."""
    missing = -len(rows) % COMPILED_ROWS
    rows = nn.functional.pad(rows, (0, 0, 0, missing))
    bias = nn.functional.pad(bias, (0, missing), value=-torch.inf)
    return nn.functional.cross_entropy((h @ rows.T).float() + bias, classes)


def log_softmax_at(logits: Tensor, classes: Tensor) -> Tensor:
    """Return `logits.log_softmax(dim=1).gather(1, classes)`: (N × M), of logits (N × C)."""
    return _LogSoftmaxAt.apply(logits, classes)


class _LogSoftmaxAt(torch.autograd.Function):
    """log p_c = z_c − log Z, whose gradient on all logits is g at c, less Σg·p.

    PyTorch fills a matrix with the zeros of the gradient and reads it again. Here p is kept, and
    each direction writes one matrix.
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


def rows_of(starts: Tensor, ends: Tensor, room: int | None = None) -> tuple[Tensor, Tensor]:
    """Return the row of every position from its start up to its end, and the positions.

    With `room` the result has this length, so that no GPU is waited for; unused entries are −1.
    """
    sizes = ends - starts
    if room is not None:
        place, stops = torch.arange(room, device=sizes.device), sizes.cumsum(0)
        row = torch.searchsorted(stops, place, right=True).clamp(max=len(sizes) - 1)
        places = starts[row] + place - (stops - sizes)[row]
        return row, torch.where(place < stops[-1], places, -1)
    row = torch.repeat_interleave(sizes)
    shift = starts - (sizes.cumsum(0) - sizes)
    return row, torch.arange(len(row), device=row.device) + shift[row]
