"""The help: every command, argument and option says in a whole phrase what it is."""

import re

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from pipeline.cli.main import app

PHRASE = re.compile(r"[A-Z]\S* \S.* \S.*\.", re.DOTALL)  # three words or more, and a full stop


def commands(command, path: tuple[str, ...] = ()):
    """Every command and group with the words that call it."""
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


EVERY = dict(commands(get_command(app)))


def test_the_help_says_which_reading_a_constraint_asks_for():
    (constraint,) = (each for each in EVERY["generate",].params if each.name == "constraint")
    assert "obeys if one of its readings does" in constraint.help


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_the_help_is_made_of_whole_phrases_and_flags_have_no_type(path):
    command = EVERY[path]
    helps = {param.name: param.help for param in command.params} | {"itself": command.help}
    assert not {name: text for name, text in helps.items() if not PHRASE.fullmatch(text or "")}
    shown = CliRunner().invoke(app, [*path, "--help"])
    assert shown.exit_code == 0
    assert "bool" not in shown.stdout.lower()
    assert not re.search(r"<[a-z]|(?:text|number|path)\.\.\.", shown.stdout), "words, not types"
