"""One training on several processes: each reads its share of the columns of every batch.

All processes draw the same batches and the same random numbers, and add up their gradients. So the
result does not depend on their number, up to rounding. A process that was started alone is the
first and only one.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, distributed, nn

from accord.models.data import Batch, State, columns


def join() -> bool:
    """Join the processes that `torchrun` started; return whether it started this one."""
    if distributed.is_torchelastic_launched():
        if torch.cuda.is_available():
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        distributed.init_process_group()
    return distributed.is_initialized()


def leave() -> None:
    """Leave the group when all other processes are done too."""
    distributed.barrier()
    distributed.destroy_process_group()


def count() -> int:
    """Return the number of processes."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def rank() -> int:
    """Return the number of this process, from 0."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def is_first() -> bool:
    """Return whether this is the process that writes files and prints."""
    return rank() == 0


@dataclass(frozen=True)
class ProcessShare:
    """The items of a process; if there are too few, an item that counts for another process."""

    first: int
    stop: int
    total: int
    counts: bool

    @classmethod
    def in_row(cls, items: int, rank: int, processes: int) -> "ProcessShare":
        """Return the share of a process of some rank."""
        first, stop = rank * items // processes, (rank + 1) * items // processes
        return cls(first, max(stop, first + 1), items, stop > first)

    @classmethod
    def own(cls, items: int) -> "ProcessShare":
        """Return the share of this process."""
        return cls.in_row(items, rank(), count())

    @property
    def columns(self) -> slice:
        return slice(self.first, self.stop)

    def batch(self, whole: Batch) -> Batch:
        """Return the columns of a batch that this process reads."""
        words, targets = (part[:, self.columns] for part in (whole.words, whole.targets))
        return Batch(words, targets, whole.positions[:, self.columns], whole.continues)

    def state(self, whole: State) -> State:
        """Return the columns of a state that this process reads."""
        return columns(whole, self.columns)

    def gathered(self, state: State) -> State:
        """Return the state of all columns, to which each process contributes its own."""
        return tuple(tuple(self._gathered(tensor) for tensor in layer) for layer in state)

    def _gathered(self, tensor: Tensor) -> Tensor:
        whole = tensor.new_zeros(tensor.shape[0], self.total, *tensor.shape[2:])
        if self.counts:
            whole[:, self.columns] = tensor
        distributed.all_reduce(whole)
        return whole


def add_up(parameters: Sequence[nn.Parameter], loss: Tensor, weight: float) -> None:
    """Replace each gradient and the loss by Σ weight·value over the processes."""
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    pieces = [*(parameter.grad for parameter in parameters if parameter.grad is not None), loss]
    flat = torch.cat([piece.flatten() for piece in pieces]).mul_(weight)
    distributed.all_reduce(flat)
    sums = flat.split([piece.numel() for piece in pieces])
    for piece, total in zip(pieces, sums, strict=True):
        piece.copy_(total.view_as(piece))


def total(number: float) -> float:
    """Return the sum over all processes."""
    if count() == 1:
        return number
    summed = torch.tensor(number, dtype=torch.float64)
    distributed.all_reduce(summed)
    return float(summed)


def from_first(content: bytes | None) -> bytes:
    """Return the bytes of the first process, sent to all others without pickling."""
    if count() == 1:
        return content or b""
    buffer = bytearray(content or b"") if is_first() else bytearray()
    data = torch.zeros(int(total(len(buffer))), dtype=torch.uint8)
    if buffer:
        data = torch.frombuffer(buffer, dtype=torch.uint8)
    if len(data):
        distributed.broadcast(data, 0)
    return data.numpy().tobytes()
