"""The help: every command, argument and option says in a whole phrase what it is."""

import os
import re
import sys

import pytest
from cli_cases import answered, invoked, started
from plug_in_cases import install
from typer.main import get_command

import accord
from accord.pipeline.cli.console import Group, Later
from accord.pipeline.cli.main import COMMANDS, app

# Three words or more and a full stop; "Of …" and "As …" lean on words that are not there.
PHRASE = re.compile(r"(?!Of |As )[A-Z]\S* \S.* \S.*\.", re.DOTALL)


def commands(command, path: tuple[str, ...] = ()):
    """Every command and group with the words that call it."""
    command = command.loaded() if isinstance(command, Later) else command
    yield path, command
    for name in command.list_commands(None) if hasattr(command, "commands") else ():
        yield from commands(command.get_command(None, name), (*path, name))


EVERY = dict(commands(get_command(app)))


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_the_help_is_made_of_whole_phrases_and_flags_have_no_type(path):
    command = EVERY[path]
    helps = {param.name: param.help for param in command.params} | {"itself": command.help}
    assert not {name: text for name, text in helps.items() if not PHRASE.fullmatch(text or "")}
    shown = answered(*path, "--help")
    assert "bool" not in shown.stdout.lower()
    assert not re.search(r"<[a-z]|(?:text|number|path)\.\.\.", shown.stdout), "words, not types"


GROUPS = {"Ask a model": "score", "Stimuli": "surprisal", "Train": "run", "Compare": "lexicon"}


def test_the_help_shows_commands_in_groups_in_the_order_people_meet_them():
    shown = invoked("--help", env={"COLUMNS": "100"}).stdout
    assert len(shown.splitlines()) <= 40, "one screen"
    titles = [re.search(rf"─ {title} ─", shown).start() for title in GROUPS]
    firsts = [shown.index(f"│ {name} ") for name in GROUPS.values()]
    assert titles == sorted(titles)
    assert all(title < first for title, first in zip(titles, firsts, strict=True))
    assert all(first < title for first, title in zip(firsts, titles[1:], strict=False))
    assert all(f"│ {name} " in shown for name in COMMANDS)


def test_a_command_of_an_earlier_version_is_told_where_it_went():
    for path in Group.moved:
        assert path not in {" ".join(words) for words in EVERY}
        done = invoked(*path.split())
        assert done.exit_code == 2
        assert done.stderr.startswith(f"error: `accord {path}` is now `accord ")
        command = done.stderr.split("is now `accord ")[1].split()[0].strip("`")
        assert (command,) in EVERY or command == "rescore", "which the zoo brings"


PACKAGE = """
from accord.pipeline.cli.console import command

@command
def greet(name: str) -> None:
    "Greet somebody by name."
    print(f"Bonjour {name} !")

COMMANDS = {"Compare": {"greet": "greetings:greet"}}
"""


def test_another_package_offers_commands_by_an_entry_point(tmp_path):
    entry = {"accord.commands": ["greetings = greetings:COMMANDS"]}
    install(tmp_path, "greetings", {"greetings": PACKAGE}, entry)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    said = [started(*words, PYTHONPATH=path).stdout for words in (["greet", "Léa"], ["--help"])]
    assert said[0] == "Bonjour Léa !\n"
    assert "│ greet      Greet somebody by name." in said[1]


def test_the_version_is_that_of_the_package():
    said = invoked("--version")
    assert (said.exit_code, said.stdout) == (0, f"accord {accord.__version__}\n")
