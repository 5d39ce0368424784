"""What a person sees while a stage works: lines, and a bar where there is a terminal."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeVar

Level = Literal["quiet", "normal", "verbose"]
Item = TypeVar("Item")
_level: Level = "normal"
LINE_EVERY = 10.0  # seconds between plain lines where there is no terminal


def set_level(level: Level) -> None:
    """How much is said from here on."""
    global _level
    _level = level


def say(message: str, detail: bool = False) -> None:
    """Print a line to standard error, so that standard output stays free for results."""
    if _level == "verbose" or (_level == "normal" and not detail):
        print(message, file=sys.stderr, flush=True)


def track(items: Iterable[Item], what: str, total: int | None = None) -> Iterator[Item]:
    """Pass the items on while showing how many, how fast and how long still."""
    advance = meter(what, total)
    for item in items:
        yield item
        advance(1)
    advance(0)


def meter(what: str, total: int | None) -> Callable[[int], None]:
    """A function to call with each amount of work done; called with 0, it closes the display."""
    terminal = sys.stderr.isatty()
    start = last = time.monotonic()
    done = shown = 0

    def advance(amount: int) -> None:
        nonlocal done, shown, last
        done += amount
        now = time.monotonic()
        pause = 0.1 if terminal else LINE_EVERY
        if _level == "quiet" or (amount and now - last < pause):
            return
        if not (amount or terminal) and (last == start or shown == done):
            return  # finished before the first line was due, or with the last
        last, shown = now, done
        line = _line(what, done, total, now - start, terminal)
        end = "\n" if not (terminal and amount) else ""
        print(f"\r\x1b[K{line}" if terminal else line, end=end, file=sys.stderr, flush=True)

    return advance


def _line(what: str, done: int, total: int | None, seconds: float, bar: bool) -> str:
    rate = done / seconds if seconds else 0.0
    speed = f"{rate:,.0f}/s" if rate >= 1 or not done else f"{seconds / done:,.0f} s each"
    if not total:
        return f"  {what}: {done:,} ({speed})"
    left = (total - done) / rate if rate else 0.0
    filled = min(24, 24 * done // total)
    drawn = f" {'█' * filled}{'░' * (24 - filled)}" if bar else ":"
    return f"  {what}{drawn} {done:,} of {total:,} ({speed}, {left:,.0f} s left)"
