"""`accord score`: a sentence as it stands, bits or nats, and no table taken for a text."""

import json
import math

import pytest
from typer.testing import CliRunner

import accord
from accord.pipeline.cli.main import app

SENTENCE = "La petite fille mange une pomme."


def command(*words, text=None):
    return CliRunner().invoke(app, ["score", *map(str, words)], input=text)


def test_a_sentence_may_be_the_argument(tiny_run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    typed = command(SENTENCE, "--run", tiny_run.folder)
    piped = command("-", "--run", tiny_run.folder, text=f"{SENTENCE}\n")
    (tmp_path / "mon texte.txt").write_text(f"\ufeff{SENTENCE}\r\n", encoding="utf-8")
    in_file = command("mon texte.txt", "--run", tiny_run.folder)
    assert typed.exit_code == 0, typed.output
    assert typed.stdout == piped.stdout == in_file.stdout
    assert command(SENTENCE * 200, "--run", tiny_run.folder).exit_code == 0  # no file has the name


@pytest.mark.parametrize("name", ["missing.txt", "data/missing.csv"])
def test_the_name_of_a_missing_file_is_refused(name):
    done = command(name)
    assert done.exit_code != 0
    assert f"no file {name}" in done.stderr


@pytest.mark.parametrize("command", ["score", "correct"])
def test_a_file_without_text_is_refused(command, tmp_path):
    (tmp_path / "nothing.txt").write_text("\n \n", encoding="utf-8")
    done = CliRunner().invoke(app, [command, str(tmp_path / "nothing.txt")])
    assert done.exit_code == 2
    assert "nothing.txt: expected one sentence per line, found no text" in done.stderr


@pytest.mark.parametrize("text", ["", " ", "\n"])
def test_an_empty_text_is_refused_as_such(text):
    done = command(text)
    assert done.exit_code == 2
    assert "the text is empty: expected a sentence" in done.stderr


@pytest.mark.parametrize("unit", ["nats", "bits"])
def test_log_p_is_in_nats_or_bits(tiny_run, unit):
    done = command(SENTENCE, "--unit", unit, "--json", "--run", tiny_run.folder)
    (line,) = map(json.loads, done.stdout.splitlines())
    total = json.loads(done.stderr)
    expected = sum(word.log_p for word in accord.load(tiny_run.folder).score(SENTENCE))
    expected /= math.log(2) if unit == "bits" else 1
    assert line["log_p"] == pytest.approx(expected, abs=1e-9)
    assert sum(word["log_p"] for word in line["words"]) == pytest.approx(expected)
    assert total["log_p"] == pytest.approx(expected) and line["unit"] == total["unit"] == unit
    assert f" {unit}," in command(SENTENCE, "--unit", unit, "--run", tiny_run.folder).stdout


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("items.csv", "item,sentence\n1,Le chat dort.\n"),
        ("items.txt", "item\tsentence\n1\tLe chat dort.\n2\tLa fille mange.\n"),
    ],
)
def test_a_table_is_refused_and_the_command_that_reads_it_named(tmp_path, name, content):
    (tmp_path / name).write_text(content, encoding="utf-8")
    done = command(tmp_path / name)
    assert done.exit_code == 2
    assert f"looks like a table; `accord surprisal {tmp_path / name}" in done.stderr
