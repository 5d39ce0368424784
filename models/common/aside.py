"""What a GPU computes aside: on a stream of its own, beside what is asked for meanwhile.

A recurrent network is a long chain of small kernels that leave most of a GPU idle. What does not
depend on it costs no time beside it, nor does its gradient: autograd computes the gradient of each
operation on the stream of that operation. Recorded steps record all streams.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Generic, TypeVar

import torch
from torch import Tensor

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
    if stream is None:
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
