"""What a computation costs, counted: no clock is asked, so that a busy machine changes nothing."""

import sys
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
