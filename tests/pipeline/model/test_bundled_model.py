"""The model of the package is asked where none is named; a copy without one says so."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import accord
from accord.pipeline.cli.main import app
from accord.pipeline.model import find as resolve

ROOT = Path(__file__).parents[3]
SENTENCE = "La petite fille mange une pomme."
COMMANDS = (
    ["score", SENTENCE],
    ["explain", "la petite …"],
    ["surprisal", str(ROOT / "tests" / "data" / "phrases.txt")],
    ["agree", "--suite"],
)


@pytest.fixture(scope="module")
def small(tiny_run, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("box") / "french"
    return accord.export(tiny_run.folder, "ll-rnn", folder, compact=True)


@pytest.fixture
def in_the_box(small, monkeypatch) -> None:
    monkeypatch.setattr(resolve, "BUNDLED_FOLDER", small)


def test_it_is_loaded_where_nothing_is_named_and_by_its_name(in_the_box, small):
    named = accord.load(small).score(SENTENCE)
    assert accord.load().score(SENTENCE) == named
    assert accord.load("french").score(SENTENCE) == named
    with pytest.raises(ValueError, match="--model rnn needs --run"):
        accord.load(model="rnn")
    for alone in ("french", small):
        with pytest.raises(ValueError, match=f"{alone} is one model: expected a run that has"):
            accord.load(alone, "rnn")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_every_command_that_asks_a_model_takes_it(in_the_box, small, command, tmp_path):
    if command[0] == "agree":
        suite = tmp_path / "pairs.csv"
        suite.write_text("good,bad\nles chats dorment,les chats dort\n", encoding="utf-8")
        command = [*command, str(suite)]
    told = CliRunner().invoke(app, command)
    assert told.exit_code == 0, told.output
    named = [str(small)] if command[0] == "agree" else ["--run", str(small)]
    assert told.stdout == CliRunner().invoke(app, [*command, *named]).stdout


def test_a_copy_without_a_model_says_so_and_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr(resolve, "BUNDLED_FOLDER", tmp_path / "french")
    for command in (["score", SENTENCE], ["vectors", "le"], ["explain", "la petite …"]):
        told = CliRunner().invoke(app, command)
        assert told.exit_code == 1 and told.stderr.count("\n") == 1
        assert "comes without a model" in told.stderr and "--run FOLDER" in told.stderr
    with pytest.raises(FileNotFoundError, match="comes without a model"):
        accord.load()
