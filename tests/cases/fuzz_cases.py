"""How files go wrong, and what a reader may do about it: the right result, or an error by name."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accord.pipeline.data.catalogue import MissingData, folder_of

CASES = pytest.mark.parametrize(
    "cases",
    [pytest.param(40, marks=pytest.mark.slow), pytest.param(10_000, marks=pytest.mark.long)],
    ids=["few", "many"],
)

# What no text file should hold, or not here: ends of lines, marks, halves of characters.
STRANGE = [
    *(b"\r\n", b"\r", b"\0", b"\x0b", b"\x0c", b"\x1c", b"\xc2\x85", b"\xe2\x80\xa8"),
    *(b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc3", b"\xff\xfe", b"\x81", b"\\", b'"', b"'", b"#"),
    *(b"\t", b"\t\t", b" ", b"\xc2\xa0", b"\n", b"\n\n", b"_", b"-", b".", b",", b":", b"="),
    *(b"0", b"-1", b"99999999999999999999", b"1e400", b"nan", b"inf", b"1_0", "²é".encode()),
    *(b"x" * 200_000, b"." * 200_000),
]


def fuzz(cases: int, strategy: st.SearchStrategy, check: Callable[[Any], None]) -> None:
    """Check so many cases that a strategy draws."""
    relaxed = settings(max_examples=cases, suppress_health_check=list(HealthCheck), database=None)
    relaxed(given(strategy)(check))()


def outcome(read: Callable[[Path], Any], path: Path, data: bytes) -> Any:
    """What a reader makes of a file; None where it refuses it by name."""
    path.write_bytes(data)
    try:
        return read(path)
    except ValueError as error:
        named = path.name in str(error) and not isinstance(error, UnicodeError)
        assert named, f"an error that names no file: {error!r}"
        return None


def excerpt(source: str, file: str, lines: int = 60) -> bytes:
    """Lines from all over a real file; none where it was never fetched."""
    try:
        path = folder_of(source) / file
    except MissingData:
        return b""
    if not path.is_file():
        return b""
    with path.open("rb") as opened:
        every = opened.readlines()
    return b"".join([*every[:1], *every[1 :: max(1, len(every) // lines)]])


@st.composite
def damaged(draw: st.DrawFn, sound: Sequence[bytes]) -> bytes:
    """One of these files with something wrong in it, or several things."""
    data = draw(st.sampled_from([each for each in sound if each]))
    for change in draw(st.lists(st.sampled_from(CHANGES), min_size=1, max_size=3)):
        data = change(draw, data)
    return data


def _place(draw: st.DrawFn, data: bytes) -> int:
    return draw(st.integers(0, len(data)))


def _flip(draw: st.DrawFn, data: bytes) -> bytes:
    if not data:
        return data
    place = draw(st.integers(0, len(data) - 1))
    return data[:place] + bytes([data[place] ^ draw(st.integers(1, 255))]) + data[place + 1 :]


def _truncate(draw: st.DrawFn, data: bytes) -> bytes:
    return data[: _place(draw, data)]


def _cut_out(draw: st.DrawFn, data: bytes) -> bytes:
    start = _place(draw, data)
    return data[:start] + data[start + draw(st.integers(1, 30)) :]


def _put_in(draw: st.DrawFn, data: bytes) -> bytes:
    place = _place(draw, data)
    return data[:place] + draw(st.sampled_from(STRANGE)) + data[place:]


def _put_first(draw: st.DrawFn, data: bytes) -> bytes:
    return draw(st.sampled_from(STRANGE)) + data


def _end_lines_otherwise(draw: st.DrawFn, data: bytes) -> bytes:
    return data.replace(b"\n", draw(st.sampled_from([b"\r\n", b"\r", b"\n\n", b" \n", b""])))


def _change_lines(draw: st.DrawFn, data: bytes) -> bytes:
    lines = data.split(b"\n")
    one, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    changed = draw(st.sampled_from(["swap", "repeat", "drop"]))
    if changed == "swap":
        lines[one], lines[other] = lines[other], lines[one]
    elif changed == "repeat":
        lines.insert(other, lines[one])
    else:
        del lines[one]
    return b"\n".join(lines)


def _change_columns(draw: st.DrawFn, data: bytes) -> bytes:
    lines = data.split(b"\n")
    row = draw(st.integers(0, len(lines) - 1))
    mark = draw(st.sampled_from([b"\t", b",", b" ", b"|"]))
    cells = lines[row].split(mark)
    one, other = (draw(st.integers(0, len(cells) - 1)) for _ in range(2))
    cells[one], cells[other] = cells[other], draw(st.sampled_from([cells[one], b"", b"_"]))
    lines[row] = mark.join(cells)
    return b"\n".join(lines)


def _encode_otherwise(draw: st.DrawFn, data: bytes) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(draw(st.sampled_from(["latin-1", "utf-16", "utf-8-sig"])), "replace")


CHANGES = [
    *(_flip, _truncate, _cut_out, _put_in, _put_first, _end_lines_otherwise),
    *(_change_lines, _change_columns, _encode_otherwise),
]
