"""A command loads what it answers with: no heavy library comes in by the way."""

import configparser
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import accord
from accord.pipeline.cli.console import EXTRA

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.slow  # each starts a process

FOR_HELP = {"base", "base.messages", "cli", "cli.console", "cli.main"}  # of the pipeline
TABLES = {"pandas", "pyarrow"}
ALWAYS = {"spacy", "datasets", "matplotlib", "transformers", "unimorph"}

# Runs commands and prints the modules that are loaded after each.
PROGRAM = """
import contextlib, io, json, sys
from accord.pipeline.cli.main import app
for command in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        app(command)
    print(json.dumps(sorted(sys.modules)))
"""
HELPS = """
import contextlib, io, sys
from accord.pipeline.cli.main import COMMANDS, app
for name in COMMANDS:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        app([name, "--help"])
assert "accord.pipeline.cli.model" in sys.modules
assert "torch" not in sys.modules
"""


def loaded_by(*commands: list[str], **environment: str) -> list[set[str]]:
    """The modules that a fresh interpreter has loaded after each of these commands."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(commands)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "error" not in done.stderr, done.stderr
    return [set(json.loads(line)) for line in done.stdout.splitlines()]


def test_looking_loads_no_network(tmp_path):
    """Nothing that is loaded goes away, so one interpreter serves all these commands."""
    without_numbers = [["--help"], ["config", "tiny"], ["fetch"]]
    others = [
        ["config"],
        ["run", "tiny", "--status"],
        ["lexicon", "show", "fille", "--lexicon", "closed,tiny,guesser"],
        ["lexicon", "coverage", "--guesser", "guesser", "--lexicon", "tiny"],
    ]
    commands = [*without_numbers, *others]
    loaded = loaded_by(*commands, ACCORD_DATA=str(tmp_path), XDG_CACHE_HOME=str(tmp_path))
    ours = {name for name in loaded[0] if name.startswith("accord.pipeline.")}
    assert ours == {f"accord.pipeline.{name}" for name in FOR_HELP}, "the help imports no command"
    for command, found in zip(commands, loaded, strict=True):
        kept_out = TABLES | {"torch", "numpy"} if command in without_numbers else {"torch"}
        assert not found & (kept_out | ALWAYS), command


def test_the_help_of_a_command_imports_no_network():
    subprocess.run([sys.executable, "-c", HELPS], check=True)


def test_scoring_loads_the_network_and_no_french_of_others(tiny_run, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("Le chat dort.\n", encoding="utf-8")
    (found,) = loaded_by(["score", str(text), "--run", str(tiny_run.folder)])
    assert "torch" not in found, "a log-linear model is computed by numpy"
    assert not found & ALWAYS


def test_a_compact_model_is_asked_without_tables_and_lexicons(tiny_run, tmp_path):
    folder = accord.export(tiny_run.folder, "ll-rnn", tmp_path / "small", compact=True)
    (found,) = loaded_by(["score", "Le chat dort.", "--run", str(folder)])
    assert "accord.models.inference.numpy_model" in found
    assert not found & ({"torch"} | ALWAYS | TABLES | {"yaml", "huggingface_hub"})


# As after `pip install accord-lm`, which brings no package of the extra `train`. Prints the exit
# status and the output of each command.
WITHOUT = """
import contextlib, io, json, sys
from accord.pipeline.cli.console import EXTRA
for name in EXTRA:
    sys.modules[name] = None  # importing it is now an error
from accord.pipeline.cli.main import app
for command in json.loads(sys.argv[1]):
    said, status = io.StringIO(), 0
    try:
        with contextlib.redirect_stdout(said):
            app(command)
    except SystemExit as ended:
        status = ended.code or 0
    print(json.dumps([status, said.getvalue()]))
"""


def without_extra(*commands: list[str]) -> tuple[list[tuple[int, str]], str]:
    """Commands in a fresh interpreter without the extra: their ends and outputs, and all errors."""
    asked = [sys.executable, "-c", WITHOUT, json.dumps(commands)]
    done = subprocess.run(asked, capture_output=True, text=True)
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()], done.stderr


def test_the_packages_of_the_extra_are_those_that_are_declared():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    declared = setup["options.extras_require"]["train"]
    assert set(re.findall(r"^([\w-]+)>=", declared, re.MULTILINE)) == EXTRA


SENTENCE = "La petite fille schtroumpfe une pomme."  # with a word that is spelled


def test_the_bundled_model_is_asked_without_the_extra(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pairs = "good\tbad\nLa fille mange.\tLa fille mangent.\n"
    (tmp_path / "pairs.tsv").write_text(pairs, encoding="utf-8")
    (tmp_path / "text.txt").write_text(SENTENCE, encoding="utf-8")
    commands = [
        ["score", SENTENCE],
        ["surprisal", "text.txt"],
        ["expect", SENTENCE],
        ["explain", "La petite …"],
        ["generate", "--count", "1", "--pattern", "DET NOUN VERB"],
        ["vectors", "fille"],
        ["agree", "--suite", "pairs.tsv"],
        ["correct", "Les enfant mange."],
    ]
    said, errors = without_extra(*commands)
    for command, (status, output) in zip(commands, said, strict=True):
        assert status == 0 and output, (command, errors)
    assert "error" not in errors


def test_a_command_that_needs_the_extra_says_how_it_is_installed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ((status, _),), errors = without_extra(["run", "tiny"])
    assert status == 1
    assert "pip install 'accord-lm[train]'" in errors.splitlines()[-1]
