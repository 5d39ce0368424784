"""What a GPU computes aside: on a stream of its own, beside what is asked for meanwhile.

A recurrent network is a long chain of small kernels that leave most of a GPU idle. What does not
depend on it costs no time beside it, nor does its gradient: autograd computes the gradient of each
operation on the stream of that operation. Recorded steps record both streams.
"""

from collections.abc import Callable
from functools import cache
from typing import Generic, TypeVar

import torch
from torch import Tensor

Tensors = TypeVar("Tensors", bound=tuple[Tensor | None, ...])


class Aside(Generic[Tensors]):
    """What `compute` makes of some tensors, on a GPU beside all that is computed until it is asked.

    Weights are better not read for the first time in it, but given as something that was computed
    from them: their gradients would be added up on its stream, where the optimiser is not.
    """

    def __init__(self, compute: Callable[..., Tensors], *given: Tensor):
        self.stream = _stream(given[0].device) if given[0].is_cuda else None
        if self.stream is None:
            self.computed = compute(*given)
            return
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            self.computed = compute(*given)
        _keep(given, self.stream)

    def __call__(self) -> Tensors:
        """It, for the stream that goes on with it."""
        if self.stream is not None:
            here = torch.cuda.current_stream()
            here.wait_stream(self.stream)
            _keep(self.computed, here)
        return self.computed


@cache
def _stream(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)


def _keep(tensors: tuple[Tensor | None, ...], reader: torch.cuda.Stream) -> None:
    """Their memory is not used anew, by the stream that they are from, before it is read."""
    for tensor in tensors:
        if tensor is not None:
            tensor.record_stream(reader)
