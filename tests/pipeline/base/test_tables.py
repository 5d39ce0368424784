"""Tables: Markdown for a file or another program, drawn by rich on a terminal; files."""

import re

import pandas as pd
import pytest

from accord.pipeline.base.tables import markdown, print_markdown, print_table, write_table

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
    print_markdown(markdown(WORDS))
    assert capsys.readouterr().out == markdown(WORDS) + "\n"


def test_a_terminal_gets_the_same_of_a_table_and_of_its_markdown(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    print_table(WORDS)
    of_table = capsys.readouterr().out
    print_markdown(markdown(WORDS) + "\n")
    assert capsys.readouterr().out == of_table


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
