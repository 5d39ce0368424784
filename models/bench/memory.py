"""The most memory that a training holds: its network, its optimiser and a step of it."""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Protocol

import torch


class Steps(Protocol):
    def step(self) -> float: ...


Begin = Callable[[], Steps]  # makes the training, perhaps in another process


def peak_bytes(begin: Begin, device: str) -> int:
    return _on_gpu(begin) if device == "cuda" else _on_cpu(begin)


def _on_gpu(begin: Begin) -> int:
    before = torch.cuda.memory_allocated()
    training = begin()
    training.step()  # in which the optimiser makes its state
    torch.cuda.reset_peak_memory_stats()
    training.step()
    return torch.cuda.max_memory_allocated() - before


def _on_cpu(begin: Begin) -> int:
    """Of a process of its own: the memory of this one is what other steps left."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
        return fresh.submit(_of_this_process, begin).result()


def _of_this_process(begin: Begin) -> int:
    before = _resident("VmRSS")
    training = begin()
    training.step()
    Path("/proc/self/clear_refs").write_text("5")  # Linux forgets the peak so far
    training.step()
    return _resident("VmHWM") - before


def _resident(field: str) -> int:
    """Bytes of memory that this process holds (VmRSS) or held at most (VmHWM), by Linux."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))
