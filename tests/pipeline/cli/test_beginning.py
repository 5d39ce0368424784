"""What `explain` and `expect` take for a beginning: one help, one gap, one refusal."""

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from accord.pipeline.cli.main import app

ASKING = ("explain", "expect")


def accord(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_gap_is_explained_in_the_same_words():
    commands = get_command(app).commands
    helps = {commands[name].loaded().params[0].help for name in ASKING}
    assert len(helps) == 1
    assert "A … (or ...) behind a blank at its end stands for the next word" in helps.pop()


@pytest.mark.parametrize("command", ASKING)
def test_a_gap_inside_is_said_to_be_none(command, tiny_run):
    said = "the … inside is read as three dots"
    assert said in accord(command, "le … dort", "--run", tiny_run.folder).stderr
    assert said not in accord(command, "le chat ...", "--run", tiny_run.folder).stderr


@pytest.mark.parametrize("command", ASKING)
def test_a_gap_alone_asks_for_the_first_word(command, tiny_run):
    said = [accord(command, gap, "--run", tiny_run.folder) for gap in ("…", "...")]
    assert said[0].exit_code == 0, said[0].output
    assert said[0].stdout == said[1].stdout
