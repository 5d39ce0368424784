"""What is printed: escaped, told of the work that is left, and in tables."""

import ast
import json
import re
import sys
import tempfile
import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_cases import invoked
from hypothesis import assume, given
from hypothesis import strategies as st

from accord.pipeline.base import messages
from accord.pipeline.base.arrow import ArrayFile, Spool
from accord.pipeline.base.messages import echo, meter, printable, say
from accord.pipeline.base.tables import markdown, print_table, write_table
from accord.pipeline.cli.console import print_error

ROOT = Path(__file__).parents[3]
CONTROLS = st.sampled_from("\x1b\x9b\x07\r\b\x7f\u202e\u2066\ud800")
texts = st.text(CONTROLS | st.characters(), max_size=30)
HOSTILE = "zor\x1b[2Jglub\x9b31m\u202e"
SHOWN = r"zor\u001b[2Jglub\u009b31m\u202e"


def obeyed(text: str) -> set[str]:
    """The characters that a terminal obeys or an encoding lacks."""
    kinds = {c: unicodedata.category(c) for c in text}
    bidirectional = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}
    return {c for c, kind in kinds.items() if (kind in ("Cc", "Cs") or c in bidirectional)} - {
        *"\n\t"
    }


@given(texts)
def test_control_characters_are_escaped_and_all_others_stay(text):
    assert not obeyed(printable(text))
    plain = "".join(c for c in text if not obeyed(c) and c not in "\u2028\u2029")
    assert printable(plain) == plain


@given(texts)
def test_json_stays_json_of_the_same(text):
    assert json.loads(printable(json.dumps(text, ensure_ascii=False))) == text


def test_whatever_is_printed_said_or_measured_is_escaped(capsys, monkeypatch):
    echo(HOSTILE, "to", 1)
    echo(HOSTILE, error=True)
    say(HOSTILE)
    assert capsys.readouterr() == (f"{SHOWN} to 1\n", f"{SHOWN}\n{SHOWN}\n")
    monkeypatch.setattr("accord.pipeline.base.messages.LINE_EVERY", 0)
    meter(HOSTILE, 10)(1)
    assert SHOWN in capsys.readouterr().err


def test_what_rich_draws_on_a_terminal_is_escaped(capsys, monkeypatch):
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    print_table(pd.DataFrame({HOSTILE: [f"[red]{HOSTILE}"]}))
    print_error(HOSTILE)
    advance = meter(f"[red]{HOSTILE}", 10)
    advance(10)
    advance(0)
    for printed in capsys.readouterr():
        assert SHOWN in printed
        assert not {*"\x9b\u202e"} & {*printed} and "\x1b[2J" not in printed
        assert "[red]" in printed


@pytest.mark.parametrize(
    "command",
    [
        ["score", f"le {HOSTILE} dort"],
        ["score", f"le {HOSTILE} dort", "--json"],
        ["score", "le chat", "--run", HOSTILE],
        ["explain", f"le {HOSTILE} …", "--words", f"chat,{HOSTILE}"],
        ["generate", "--start", f"le {HOSTILE}", "--count", "1"],
        ["expect", f"le {HOSTILE}"],
        ["run", "tiny", "--verify", "--runs", HOSTILE],
        ["config", HOSTILE],
        ["lexicon", "show", "chat", "--lexicon", HOSTILE],
        ["run", "tiny", "--set", f"{HOSTILE}=1"],
        ["run", "tiny", "--models", HOSTILE],
    ],
)
def test_no_command_prints_a_control_character(command, tiny_run):
    if command[0] in ("score", "explain", "generate", "expect") and "--run" not in command:
        command = [*command, "--run", str(tiny_run.folder)]
    done = invoked(*command)
    assert "zor" in done.output
    assert not obeyed(done.output), (done.stdout, done.stderr)


def test_nothing_else_prints_to_the_terminal():
    for path in sorted((ROOT / "pipeline").rglob("*.py")):
        if path.name == "messages.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "print":
                (file,) = (key.value for key in node.keywords if key.arg == "file")
                assert not ast.unparse(file).startswith("sys."), path


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


WORDS = pd.DataFrame(
    {
        "word": ["chat", "[fille]"],
        "lemma": ["chat", "fille"],
        "log p": ["-3.20", "-12.50"],
        "share": ["5.0 %", "–"],
        "mean": ["1.2 ± 0.1", "10.0"],
    }
)


def test_text_is_on_the_left_and_numbers_are_on_the_right():
    head, rule, first, second = markdown(WORDS).splitlines()
    assert head == "| word    | lemma |  log p | share |      mean |"
    assert rule == "| ------- | ----- | -----: | ----: | --------: |"
    assert first == "| chat    | chat  |  -3.20 | 5.0 % | 1.2 ± 0.1 |"
    assert second == "| [fille] | fille | -12.50 |     – |      10.0 |"


def test_a_pipe_gets_markdown(capsys):
    print_table(WORDS)
    assert capsys.readouterr().out == markdown(WORDS) + "\n"


@pytest.mark.parametrize("width", [80, 30])
def test_a_terminal_gets_a_table_that_fits(width, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    print_table(WORDS)
    shown = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)  # without colours
    assert max(map(len, shown.splitlines())) <= width
    assert "|" not in shown and "…" not in shown  # nothing is cut off
    if width == 80:
        assert "[fille]" in shown  # a bracket is no colour
        (row,) = (line for line in shown.splitlines() if line.split()[:1] == ["chat"])
        assert row.split() == ["chat", "chat", "-3.20", "5.0", "%", "1.2", "±", "0.1"]


TABLE = pd.DataFrame(
    {"word": ["=1+1", "@SUM(A1)", "+1", "-là", "chat"], "=bits": [-1.5, 2, 3, 4, 5]}
)
READERS = {".csv": pd.read_csv, ".tsv": lambda path: pd.read_csv(path, sep="\t")}
READERS[".parquet"] = pd.read_parquet


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_no_text_is_computed_by_a_spreadsheet(tmp_path, ending):
    path = tmp_path / f"table{ending}"
    write_table(TABLE, path, spreadsheet=True)
    found = READERS[ending](path)
    assert found["word"].tolist() == ["'=1+1", "'@SUM(A1)", "'+1", "'-là", "chat"]
    assert found["'=bits"].tolist() == [-1.5, 2, 3, 4, 5]  # numbers stay numbers


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.bool_])
@given(chunks=st.lists(st.lists(st.integers(0, 1), max_size=20), max_size=5))
def test_an_array_by_chunks_is_the_bytes_of_the_whole(dtype, chunks):
    with tempfile.TemporaryDirectory() as folder:
        grown, saved = Path(folder) / "grown.npy", Path(folder) / "saved.npy"
        with ArrayFile(grown, dtype) as file:
            for chunk in chunks:
                file.append(np.array(chunk, dtype))
        np.save(saved, np.array([value for chunk in chunks for value in chunk], dtype))
        assert grown.read_bytes() == saved.read_bytes()


def test_a_spool_keeps_one_row_of_a_key_and_gives_them_back_in_any_order(tmp_path):
    with Spool(tmp_path / "spool") as spool:
        for word in ("un", "deux", "un", "trois"):
            spool.add(json.dumps({"word": word}), key=word.encode())
        for _ in range(2):
            spool.add('{"word": "sans"}')
        assert len(spool) == 5
        found = [row["word"] for row in spool.rows([4, 2, 0, 1, 3])]
        assert found == ["sans", "trois", "un", "deux", "sans"]
    assert not list(tmp_path.iterdir()), "nothing is left behind"
