"""What is said of work that goes on: never an hour left of what takes seconds."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from accord.pipeline.base import messages

TOTAL = 500


class Clock:
    """A clock that work moves on."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


def lines(monkeypatch, capsys, begin: float, each: float, items: int, terminal: bool) -> list[str]:
    """What is shown of work that takes so long to begin, and so long for each item."""
    clock = Clock()
    monkeypatch.setattr(messages, "time", clock)
    monkeypatch.setattr(messages.sys.stderr, "isatty", lambda: terminal, raising=False)
    advance = messages.meter("items", TOTAL)
    clock.now += begin
    for _ in range(items):
        clock.now += each
        advance(1)
    if items == TOTAL:
        advance(0)
    drawn = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", capsys.readouterr().err)  # without colours
    return [line.rstrip() for line in re.findall(r"  items[^\r\n]*", drawn)]


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize(("begin", "each"), [(28, 0.02), (0.5, 0.02), (0, 3), (60, 30)])
def test_what_is_left_is_the_work_that_is_left(monkeypatch, capsys, begin, each, terminal):
    shown = lines(monkeypatch, capsys, begin, each, 300, terminal)
    assert any("left" in line for line in shown) or not terminal
    for line in shown:
        done = int(re.search(r"(\d+) of 500", line)[1])
        for left in re.findall(r"([\d,]+) s left", line):
            assert int(left.replace(",", "")) == pytest.approx((TOTAL - done) * each, abs=1)


@given(st.lists(st.tuples(st.integers(1, 10**6), st.floats(0, 1e4)), min_size=1), st.floats(0, 1e5))
def test_a_rate_is_told_only_of_what_was_seen(pieces, begin):
    now = begin
    pace = messages.Pace(0.0)
    for amount, seconds in pieces:
        now += seconds
        pace.advance(amount, now)
    rate = pace.rate(now)
    assume(rate is not None)
    assert sum(seconds for _, seconds in pieces[1:]) == pytest.approx(
        sum(amount for amount, _ in pieces[1:]) / rate, rel=1e-3
    )
