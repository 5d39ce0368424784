"""Accidents that once ended in a traceback, or in an error that named no place."""

import os
import sys

import pytest
from cli_cases import started
from full_disk import full_disk
from plug_in_cases import install
from typer.testing import CliRunner

from accord.pipeline.cli.main import app
from accord.pipeline.model.export import card

LONG = "a" * 500


@pytest.mark.parametrize(
    "command",
    [
        ["score", "le chat", "--run", LONG],
        ["explain", "le chat", "--run", f"{LONG}/ll-rnn"],
        ["run", "tiny", "--verify", "--runs", LONG],
        ["run", "tiny", "--runs", LONG],
    ],
)
def test_a_name_that_no_file_can_have_is_an_error_in_a_line(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, command)
    assert done.exit_code in (1, 2)
    assert isinstance(done.exception, SystemExit)
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") <= 2


FAULT = """
from accord.pipeline.cli.console import command

@command
def index(word: str) -> None:
    "Look a word up in a table that lacks it."
    {}[word]

COMMANDS = {"Compare": {"index": "faulty:index"}}
"""


def test_an_error_of_the_program_itself_is_not_told_as_a_mistake_of_the_user(tmp_path):
    entry = {"accord.commands": ["faulty = faulty:COMMANDS"]}
    install(tmp_path, "faulty", {"faulty": FAULT}, entry)
    asked, verbosely = (
        started(*words, PYTHONPATH=os.pathsep.join([str(tmp_path), *sys.path]))
        for words in (["index", "fille"], ["--verbose", "index", "fille"])
    )
    assert (asked.returncode, verbosely.returncode) == (1, 1)
    *_, fault, hint = asked.stderr.splitlines()
    assert fault == "error: KeyError: 'fille'"
    assert hint.startswith("This is a fault of Accord: `accord --verbose")
    assert "Traceback" in verbosely.stderr and "{}[word]" in verbosely.stderr


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (["score", "lost.txt"], "no file lost.txt"),
        (["surprisal", "folder.csv"], "Is a directory: folder.csv"),
        (["explain", "la fille", "--html", "page.html/x"], "File exists: page.html"),
        (["expect", "la fille", "--to", "page.html/x.csv"], "File exists: page.html"),
    ],
)
def test_a_file_that_cannot_be_read_or_written_is_named(command, error, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "page.html").touch()
    done = CliRunner().invoke(app, command)
    assert (done.exit_code, done.stderr) == (1, f"error: {error}\n")


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("words", [["--help"], ["lexicon", "show", "fille", "--lexicon", "tiny"]])
def test_a_terminal_that_lacks_a_letter_shows_its_number(encoding, words):
    done = started(*words, text=False, PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    assert rb"\u03c6" in done.stdout  # φ


def test_a_stage_that_finds_no_room_names_the_folder(tmp_path):
    runs = tmp_path / "runs"
    with full_disk(3000):
        done = CliRunner().invoke(app, ["run", "tiny", "--until", "tokenise", "--runs", str(runs)])
    assert done.exit_code == 1
    assert f"error: File too large: {runs}" in done.stderr


def test_names_in_a_card_are_no_html_and_no_links(tmp_path):
    hostile = "<img src=x onerror=alert(1)>|[x](http://y)"
    about = {
        "name": hostile,
        "start": hostile,
        "language": "fr",
        "corpora": [{"name": hostile, "licence": hostile}],
        "lexicons": [{"name": hostile, "licence": "MIT"}],
        "scores": [{"split": hostile, "metric": "perplexity", "value": 3.0}],
        "params": {
            "train": {"encoder": "lstm", "output": "softmax"},
            "analyse": {"protocol": "open"},
            "background": {"kind": "unigram"},
        },
    }
    _, _, body = card(about).partition("---\n\n")  # behind the header, which is YAML
    assert "<img" not in body and "&lt;img" in body
    assert "[x](" not in body
    rows = [line for line in body.splitlines() if line.startswith("| text")]
    assert rows[0].replace(r"\|", "").count("|") == 4
