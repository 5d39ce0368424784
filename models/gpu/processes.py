"""One training on several processes: each reads its share of the columns of every batch.

All processes draw the same batches and the same random numbers and add up their gradients, so that
the result does not depend on their number, up to rounding. A process that was not started with
others is the first and only one, and nothing here costs it anything.
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
    """Leave the group, when all other processes are done too."""
    distributed.barrier()
    distributed.destroy_process_group()


def count() -> int:
    return distributed.get_world_size() if distributed.is_initialized() else 1


def rank() -> int:
    return distributed.get_rank() if distributed.is_initialized() else 0


def is_first() -> bool:
    """Whether this is the process that writes and speaks for all."""
    return rank() == 0


@dataclass(frozen=True)
class ProcessShare:
    """The items of a process; if there are too few, one that counts for another process."""

    first: int
    stop: int
    of: int  # how many there are in all
    counts: bool

    @classmethod
    def in_row(cls, items: int, rank: int, processes: int) -> "ProcessShare":
        first, stop = rank * items // processes, (rank + 1) * items // processes
        return cls(first, max(stop, first + 1), items, stop > first)

    @classmethod
    def own(cls, items: int) -> "ProcessShare":
        return cls.in_row(items, rank(), count())

    @property
    def columns(self) -> slice:
        return slice(self.first, self.stop)

    def batch(self, whole: Batch) -> Batch:
        words, targets = (each[:, self.columns] for each in (whole.words, whole.targets))
        return Batch(words, targets, whole.positions[:, self.columns], whole.continues)

    def state(self, whole: State) -> State:
        return columns(whole, self.columns)

    def gathered(self, state: State) -> State:
        """The state of all columns, from each process that of its own."""
        return tuple(tuple(self._gathered(tensor) for tensor in layer) for layer in state)

    def _gathered(self, tensor: Tensor) -> Tensor:
        whole = tensor.new_zeros(tensor.shape[0], self.of, *tensor.shape[2:])
        if self.counts:
            whole[:, self.columns] = tensor
        distributed.all_reduce(whole)
        return whole


def add_up(parameters: Sequence[nn.Parameter], loss: Tensor, weight: float) -> None:
    """Put Σ weight·gradient over the processes into each gradient, Σ weight·loss into the loss."""
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    pieces = [*(each.grad for each in parameters if each.grad is not None), loss]
    flat = torch.cat([piece.flatten() for piece in pieces]).mul_(weight)
    distributed.all_reduce(flat)
    sums = flat.split([piece.numel() for piece in pieces])
    for piece, total in zip(pieces, sums, strict=True):
        piece.copy_(total.view_as(piece))


def total(number: float) -> float:
    """The sum over all processes."""
    if count() == 1:
        return number
    summed = torch.tensor(number, dtype=torch.float64)
    distributed.all_reduce(summed)
    return float(summed)


def from_first(content: bytes | None) -> bytes:
    """The bytes of the first process, sent to all others without pickling."""
    if count() == 1:
        return content or b""
    own = bytearray(content or b"") if is_first() else bytearray()
    data = torch.zeros(int(total(len(own))), dtype=torch.uint8)
    if own:
        data = torch.frombuffer(own, dtype=torch.uint8)
    if len(data):
        distributed.broadcast(data, 0)
    return data.numpy().tobytes()
