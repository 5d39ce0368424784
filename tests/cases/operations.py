"""What a computation costs, counted where it can be: then a busy machine changes nothing."""

import sys
import time
from collections.abc import Callable
from typing import Any


def calls(compute: Callable[[], Any]) -> int:
    """How many functions are called, those that are written in C included."""
    count = 0

    def on_event(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(on_event)
    try:
        compute()
    finally:
        sys.setprofile(None)
    return count


def is_linear(cost: Callable[[int], int], size: int) -> bool:
    """Whether twice the size costs no more than twice as much, and a little."""
    return cost(2 * size) <= 2.1 * cost(size)


def cpu_seconds(compute: Callable[[], Any]) -> float:
    """The time of this thread alone, the least of three: regular expressions call no functions."""

    def once() -> float:
        start = time.thread_time()
        compute()
        return time.thread_time() - start

    return min(once() for _ in range(3))


TOO_SHORT = 0.05  # seconds by which no growth can be judged


def grows_as_its_size(compute: Callable[[int], Any], size: int) -> bool:
    """Whether eight times the size takes about eight times as long; a square would be 64 times."""
    longer = cpu_seconds(lambda: compute(8 * size))
    return longer < TOO_SHORT or longer <= 24 * cpu_seconds(lambda: compute(size))
