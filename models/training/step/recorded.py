"""Steps recorded and replayed: a GPU is done with a step sooner than Python has asked for it.

A step of a large model is some thousand kernels, each of which takes longer to launch than to run.
A CUDA graph launches all of them at once, but for one shape of its inputs: each shape is computed
as usual when it is first met, recorded when it is met again, and replayed from then on.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from accord.models.background.base import Background
from accord.models.common.batching import Batch
from accord.models.common.state import State
from accord.models.training.step.ahead import Prepared

Compute = Callable[[Prepared, State], tuple[Tensor, State]]


class _Recording(NamedTuple):
    graph: torch.cuda.CUDAGraph
    batch: Prepared  # what it reads
    before: State
    loss: Tensor  # what it writes, beside the gradients
    after: State


class RecordedSteps:
    """The same as `compute`, which reads a batch and a state and leaves gradients in their place.

    It may wait for nothing that the GPU has computed, and its gradients must stay where they are.
    """

    def __init__(self, compute: Compute, background: Background):
        self.compute, self.background = compute, background
        self.met: set[tuple] = set()
        self.recordings: dict[tuple, _Recording] = {}
        self.pool = torch.cuda.graph_pool_handle()  # only one of them runs at a time

    def with_room(self, prepared: Prepared, batch: Batch, contexts: np.ndarray) -> Prepared:
        """The batch, and for how many entries the background takes room in it."""
        entries = int(self.background.entries(contexts[batch.positions]))
        coarse = 1 << max(0, entries.bit_length() - 3)  # so that few rooms differ
        return prepared._replace(room=-(-entries // coarse) * coarse)

    def __call__(self, batch: Prepared, before: State) -> tuple[Tensor, State]:
        shape = batch.room, *(tuple(tensor.shape) for tensor in _tensors((batch, before)))
        if shape not in self.recordings:
            if shape not in self.met or not _has_memory():
                self.met.add(shape)
                return self._compute(batch, before)
            self.recordings[shape] = self._record(batch, before)
        recording = self.recordings[shape]
        given, read = _tensors((batch, before)), _tensors((recording.batch, recording.before))
        for value, place in zip(given, read, strict=True):
            place.copy_(value)
        recording.graph.replay()
        return recording.loss.clone(), recording.after

    def _record(self, batch: Prepared, before: State) -> _Recording:
        batch, before = _copied(batch), _copied(before)
        graph = torch.cuda.CUDAGraph()
        # What the thread that prepares batches asks of the GPU meanwhile is not recorded.
        with torch.cuda.graph(graph, pool=self.pool, capture_error_mode="thread_local"):
            loss, after = self._compute(batch, before)
        return _Recording(graph, batch, before, loss, after)

    def _compute(self, batch: Prepared, before: State) -> tuple[Tensor, State]:
        self.background.room = batch.room
        computed = self.compute(batch, before)
        self.background.room = None
        return computed


def _has_memory() -> bool:
    """Whether a recording, which keeps the memory of a step, leaves enough to all who compute."""
    free, total = torch.cuda.mem_get_info()
    return free > total / 6


def _tensors(parts: tuple) -> Iterator[Tensor]:
    """All of them, however deep."""
    for part in parts:
        if isinstance(part, Tensor):
            yield part
        elif isinstance(part, tuple):
            yield from _tensors(part)


def _copied(parts: tuple) -> tuple:
    """The same with tensors of their own."""
    copies = [
        part.clone()
        if isinstance(part, Tensor)
        else _copied(part)
        if isinstance(part, tuple)
        else part
        for part in parts
    ]
    return type(parts)(*copies) if hasattr(parts, "_fields") else tuple(copies)
