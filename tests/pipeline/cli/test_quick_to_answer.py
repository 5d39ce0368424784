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

FOR_HELP = {"cli", "cli.console", "cli.main", "display", "display.messages"}  # of the pipeline
TABLES = {"pandas", "pyarrow"}
ALWAYS = {"spacy", "datasets", "matplotlib", "transformers", "unimorph"}

# Runs a command and prints the modules that it left behind.
PROGRAM = """
import contextlib, io, json, sys
from accord.pipeline.cli.main import app
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    app(sys.argv[1:])
print(json.dumps(sorted(sys.modules)))
"""
HELPS = """
import contextlib, io, sys
from accord.pipeline.cli.main import COMMANDS, app
for name in COMMANDS:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        app([name, "--help"])
assert "accord.pipeline.cli.score" in sys.modules
assert "torch" not in sys.modules
"""


def loaded_by(*command: str, **environment: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after a command."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *command],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "error" not in done.stderr, done.stderr
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("command", "kept_out"),
    [
        (["--help"], TABLES | {"torch", "numpy"}),
        (["config", "tiny"], TABLES | {"torch", "numpy"}),
        (["fetch"], TABLES | {"torch", "numpy"}),
        (["config"], {"torch"}),
        (["stages", "tiny"], {"torch"}),
        (["lexicon", "show", "fille", "--lexicon", "closed,tiny,guesser"], {"torch"}),
        (["lexicon", "guesser", "tiny"], {"torch"}),
    ],
    ids=lambda value: " ".join(sorted(value) if isinstance(value, set) else value),
)
def test_looking_loads_no_network(tmp_path, command, kept_out):
    found = loaded_by(*command, ACCORD_DATA=str(tmp_path), XDG_CACHE_HOME=str(tmp_path))
    assert not found & (kept_out | ALWAYS)
    assert "accord.pipeline.cli.main" in found


def test_the_help_imports_no_command_and_that_of_a_command_no_network():
    ours = {name for name in loaded_by("--help") if name.startswith("accord.pipeline.")}
    assert ours == {f"accord.pipeline.{name}" for name in FOR_HELP}
    subprocess.run([sys.executable, "-c", HELPS], check=True)


def test_scoring_loads_the_network_and_no_french_of_others(tiny_run, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("Le chat dort.\n", encoding="utf-8")
    found = loaded_by("score", str(text), "--run", str(tiny_run.folder))
    assert "torch" in found
    assert not found & ALWAYS


def test_a_compact_model_is_asked_without_tables_and_lexicons(tiny_run, tmp_path):
    folder = accord.export(tiny_run.folder, "ll-rnn", tmp_path / "small", compact=True)
    found = loaded_by("score", "Le chat dort.", "--run", str(folder))
    assert "accord.models.inference.numpy_model" in found
    assert not found & ({"torch"} | ALWAYS | TABLES | {"yaml", "accord.lexicon", "huggingface_hub"})


# As after `pip install accord-lm`, which brings no package of the extra `train`.
WITHOUT = """
import sys
from accord.pipeline.cli.console import EXTRA
for name in EXTRA:
    sys.modules[name] = None  # importing it is now an error
from accord.pipeline.cli.main import app
app(sys.argv[1:])
"""


def without_extra(*command: str) -> subprocess.CompletedProcess:
    """A command in a fresh interpreter that finds no package of the extra."""
    return subprocess.run([sys.executable, "-c", WITHOUT, *command], capture_output=True, text=True)


def test_the_packages_of_the_extra_are_those_that_are_declared():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    declared = setup["options.extras_require"]["train"]
    assert set(re.findall(r"^([\w-]+)>=", declared, re.MULTILINE)) == EXTRA


SENTENCE = "La petite fille schtroumpfe une pomme."  # with a word that is spelled


@pytest.mark.parametrize(
    "command",
    [
        ["score", SENTENCE],
        ["surprisal", "text.txt"],
        ["expect", SENTENCE],
        ["explain", "La petite …"],
        ["generate", "--count", "1", "--pattern", "DET NOUN VERB"],
        ["nearest", "fille"],
        ["agree", "--suite", "pairs.tsv"],
        ["correct", "Les enfant mange."],
    ],
    ids=lambda command: command[0],
)
def test_the_bundled_model_is_asked_without_the_extra(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pairs = "good\tbad\nLa fille mange.\tLa fille mangent.\n"
    (tmp_path / "pairs.tsv").write_text(pairs, encoding="utf-8")
    (tmp_path / "text.txt").write_text(SENTENCE, encoding="utf-8")
    said = without_extra(*command)
    assert said.returncode == 0 and said.stdout, said.stderr
    assert "error" not in said.stderr


def test_a_command_that_needs_the_extra_says_how_it_is_installed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = without_extra("run", "tiny")
    assert said.returncode == 1
    assert "pip install 'accord-lm[train]'" in said.stderr.splitlines()[-1]
