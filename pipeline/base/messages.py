"""Print lines for the user: messages, progress, counts, short names of paths.

Text from elsewhere may hold control characters, which a terminal obeys. `printable` escapes them
wherever text is printed: here, in `print_table` and in `print_error`.
"""

import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, TypeVar

Level = Literal["quiet", "normal", "verbose"]
Item = TypeVar("Item")
_level: Level = "normal"
_is_drawn = False  # whether a meter has a line on the terminal
LINE_EVERY = 10.0  # seconds between plain lines where there is no terminal
DRAWN_EVERY = 0.1  # seconds between two states of the line on a terminal
SETTLED = 1.0  # seconds of work by which the rest can be judged
# What brings the packages that the bundled model is asked without.
INSTALL = "pip install 'accord-lm[train]'"


def set_level(level: Level) -> None:
    global _level
    _level = level


CONTROLS = [*range(0x20), *range(0x7F, 0xA0)]  # among them ESC and CSI, by which terminals obey
DIRECTIONS = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]  # they show text in another order
HALVES = range(0xD800, 0xE000)  # of characters, which no encoding has
ESCAPED = {
    code: f"\\u{code:04x}"  # as JSON has it, so that JSON stays JSON
    for code in (*CONTROLS, *DIRECTIONS, 0x2028, 0x2029, *HALVES)
    if chr(code) not in "\n\t"
}


def printable(text: str) -> str:
    """Return a text with its control characters, except tabs and line ends, as escapes."""
    return text if text.isprintable() else text.translate(ESCAPED)


def echo(*parts: object, sep: str = " ", end: str = "\n", error: bool = False) -> None:
    """Print a result, or a line to standard error; no control character reaches a terminal."""
    global _is_drawn
    if _is_drawn:  # the line of a meter, which is drawn again
        _draw("", end="\r")
        _is_drawn = False
    file = sys.stderr if error else sys.stdout
    print(printable(sep.join(map(str, parts))), end=end, file=file, flush=True)


def _draw(line: str, end: str) -> None:
    """Print a line on the terminal in place of the former one."""
    width = shutil.get_terminal_size().columns - 1
    print(f"\r{printable(line)[:width]:{width}}", end=end, file=sys.stderr, flush=True)


def say(message: str, detail: bool = False) -> None:
    """Print a line to standard error, so that standard output stays free for results."""
    if _level == "verbose" or (_level == "normal" and not detail):
        echo(message, error=True)


def track(items: Iterable[Item], what: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items and show how many are done, how fast, and the time left."""
    advance = meter(what, total)
    for item in items:
        yield item
        advance(1)
    advance(0)


def meter(what: str, total: int | None) -> Callable[[int], None]:
    """Return a function that is called with each amount of work; 0 closes the display.

    A terminal shows one line that changes. Elsewhere a line is printed every few seconds.
    """
    if _level == "quiet":
        return lambda amount: None
    is_terminal = sys.stderr.isatty()
    every = DRAWN_EVERY if is_terminal else LINE_EVERY
    pace, shown = Pace(time.monotonic()), 0
    last = pace.start

    def advance(amount: int) -> None:
        nonlocal last, shown
        global _is_drawn
        now = time.monotonic()
        pace.advance(amount, now)
        if not pace.done or (amount and now - last < every):
            return
        last = now
        rate = pace.rate(now) if amount else pace.done / max(now - pace.start, 1e-9)
        line = f"  {what}: {_figures(pace.done, total, rate)}"
        if is_terminal:
            _draw(line, end="" if amount else "\n")
            _is_drawn = bool(amount)
        elif amount or shown not in (0, pace.done):  # a last line only if there was another
            echo(line, error=True)
        shown = pace.done

    return advance


class Pace:
    """The speed of work, without the preparation before the first piece."""

    def __init__(self, start: float):
        self.start = start
        self.done = 0
        self.first: tuple[int, float] | None = None  # what was done first, and when

    def advance(self, amount: int, now: float) -> None:
        self.done += amount
        self.first = self.first or (self.done, now)

    def rate(self, now: float) -> float | None:
        """Return the work done per second; None while it is too early to tell."""
        done, since = self.first or (0, self.start)
        seconds = now - since
        return (self.done - done) / seconds if seconds >= SETTLED and self.done > done else None


def _figures(done: int, total: int | None, rate: float | None) -> str:
    """Write the amount done, the speed, and the time left, as far as they are known."""
    speed = []
    if rate:
        speed.append(f"{rate:,.0f}/s" if rate >= 1 else f"{1 / rate:,.0f} s each")
    if rate and total and done < total:
        speed.append(f"{(total - done) / rate:,.0f} s left")
    suffix = f" ({', '.join(speed)})" if speed else ""
    return f"{done:,} of {total:,}{suffix}" if total else f"{done:,}{suffix}"


def counted(number: int, thing: str) -> str:
    """Write a number with its noun: `1 sentence`, `2,000 sentences`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def short_names(paths: Sequence[tuple[str, ...]], least: int = 1) -> list[str]:
    """Return the shortest ends of paths that differ, with at least `least` parts."""
    endings = [
        ["/".join(path[-length:]) for length in range(least, len(path) + 1)] for path in paths
    ]
    count = Counter(name for names in endings for name in names)
    return [next(name for name in names if count[name] == 1) for names in endings]
