"""No text from elsewhere reaches the terminal as a command, whatever prints it."""

import ast
import json
import sys
import unicodedata
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from accord.pipeline.base.messages import echo, meter, printable, say
from accord.pipeline.base.tables import print_table
from accord.pipeline.cli.console import print_error
from accord.pipeline.cli.main import app

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
    done = CliRunner().invoke(app, command)
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
