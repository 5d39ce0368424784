"""The command line: what it prints, its exit codes, and accidents told in a line or two."""

import json
import math
import os
import subprocess
import sys
from json import loads
from pathlib import Path

import pandas as pd
import pytest
from cli_cases import answered, invoked, started
from full_disk import full_disk
from plug_in_cases import install

import accord
from accord.pipeline.model.export import card


@pytest.fixture
def command_line(tmp_path, monkeypatch):
    """The command line in this process, in an empty folder: starting one takes seconds."""
    monkeypatch.chdir(tmp_path)
    return invoked


def started_in(*words: str, **options) -> subprocess.CompletedProcess:
    """The command line in a process of its own."""
    command = [sys.executable, "-m", "accord.pipeline.cli.main", *words]
    return subprocess.run(command, capture_output=True, text=True, **options)


def test_a_text_whose_perplexity_no_float_holds_is_scored(tiny_run):
    command = ["score", "-", "--run", str(tiny_run.folder)]
    text, json = (invoked(*command, *options, input="漢" * 200) for options in ([], ["--json"]))
    assert text.exit_code == json.exit_code == 0, text.output
    assert "perplexity over 1e308" in text.stdout
    figures = loads(json.stderr, parse_constant=pytest.fail)
    assert figures["perplexity"] is None and figures["log_p"] < -1000


def test_output_that_nobody_reads_to_its_end_is_no_error(tmp_path):
    """As in `accord config tiny | head -1`."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "accord.pipeline.cli.main", "config", "tiny"],
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["run", "tinny"], 2, "no preset 'tinny'; the nearest is 'tiny'"),
        (["run", "tiny", "--until", "trian"], 2, "unknown stage 'trian'; the nearest is 'train'"),
        (["run", "tiny", "--set", "train.epoch=1"], 2, "unknown key 'epoch'"),
        (["run", "tiny", "--models", "ll-rn"], 2, "no model 'll-rn'; the nearest is 'll-rnn'"),
        (["run", "tiny", "--name", "../x"], 2, "--name: expected names that begin with a letter"),
        (["run", "tiny", "--set", "corpus.source=lost.txt"], 2, "no corpus 'lost.txt'"),
        (["run", "tiny", "--verify"], 1, "runs/tiny is no run"),
        (["run", "nowhere.yaml"], 1, "no configuration file nowhere.yaml"),
        (["surprisal", "Il dort."], 1, "no file Il dort.; for a sentence itself there is `accord"),
        (["fetch", "lefffff"], 2, "unknown source 'lefffff'; the nearest is 'lefff'"),
    ],
)
def test_a_mistake_is_one_or_two_lines_without_a_traceback(command_line, words, code, said):
    done = command_line(*words)
    assert done.exit_code == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2


@pytest.mark.slow
def test_no_network_at_the_first_run_says_which_command_to_run(tmp_path):
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": "/dev/null",
    }
    done = started_in("run", cwd=tmp_path, env=environment)
    assert done.returncode == 1
    assert "Online, run `accord fetch wiktionnaire`" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_some_models_are_run_under_another_name_and_quiet_prints_results_only(
    command_line, tmp_path
):
    chosen = ["tiny", "--models", "ll-rnn", "--name", "mine", "--set", "train.epochs=1"]
    done = command_line("--quiet", "run", *chosen)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "| ll-rnn |" in done.stdout and "| rnn" not in done.stdout
    assert "report: runs/mine/report/index.html" in done.stdout
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {"artefacts", "mine"}
    states = command_line("run", *chosen, "--status").stdout.splitlines()
    assert {line.split()[2] for line in states} == {"done"}


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
    done = invoked(*command)
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
    done = invoked(*command)
    assert (done.exit_code, done.stderr) == (1, f"error: {error}\n")


@pytest.mark.slow
def test_a_terminal_that_lacks_a_letter_shows_its_number():
    words = ["lexicon", "show", "fille", "--lexicon", "tiny"]
    done = started(*words, text=False, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert rb"\u03c6" in done.stdout  # φ


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


TEXT = "la petite fille mange une pomme"
COMMANDS = {
    "table.csv": ["surprisal", "{stimuli}", "--to", "{file}", "--column", "sentence"],
    "table.parquet": ["surprisal", "{stimuli}", "--to", "{file}", "--column", "sentence"],
    "expected.csv": ["expect", TEXT, "--to", "{file}"],
    "page.html": ["explain", TEXT, "--html", "{file}"],
    "figure.png": ["expect", TEXT, "--plot", "{file}"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_an_older_file_stays_and_no_half_one_appears(tiny_run, tmp_path, name):
    stimuli, file = tmp_path / "stimuli.csv", tmp_path / "written" / name
    pd.DataFrame({"sentence": [TEXT] * 20}).to_csv(stimuli)
    named = {"stimuli": stimuli, "file": file}
    command = [part.format(**named) for part in COMMANDS[name]] + ["--run", str(tiny_run.folder)]
    assert invoked(*command).exit_code == 0
    before, files = file.read_bytes(), sorted(file.parent.iterdir())
    with full_disk(len(before) // 2):
        done = invoked(*command)
    assert done.exit_code == 1
    assert done.stderr.rstrip().endswith(f"error: File too large: {file}")
    assert file.read_bytes() == before
    assert sorted(file.parent.iterdir()) == files


ASKING = ("explain", "expect")


@pytest.mark.parametrize("command", ASKING)
def test_a_gap_inside_is_said_to_be_none(command, tiny_run):
    said = "the … inside is read as three dots"
    assert said in invoked(command, "le … dort", "--run", tiny_run.folder).stderr
    assert said not in invoked(command, "le chat ...", "--run", tiny_run.folder).stderr


@pytest.mark.parametrize("command", ASKING)
def test_a_gap_alone_asks_for_the_first_word(command, tiny_run):
    said = [invoked(command, gap, "--run", tiny_run.folder) for gap in ("…", "...")]
    assert said[0].exit_code == 0, said[0].output
    assert said[0].stdout == said[1].stdout


SENTENCE = "La petite fille mange une pomme."


def score(*words, text=None):
    return invoked("score", *words, input=text)


def test_a_sentence_may_be_the_argument(tiny_run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    typed = score(SENTENCE, "--run", tiny_run.folder)
    piped = score("-", "--run", tiny_run.folder, text=f"{SENTENCE}\n")
    (tmp_path / "mon texte.txt").write_text(f"\ufeff{SENTENCE}\r\n", encoding="utf-8")
    in_file = score("mon texte.txt", "--run", tiny_run.folder)
    assert typed.exit_code == 0, typed.output
    assert typed.stdout == piped.stdout == in_file.stdout
    assert score(SENTENCE * 200, "--run", tiny_run.folder).exit_code == 0  # no file has the name


@pytest.mark.parametrize("unit", ["nats", "bits"])
def test_log_p_is_in_nats_or_bits(tiny_run, unit):
    done = score(SENTENCE, "--unit", unit, "--json", "--run", tiny_run.folder)
    (line,) = map(json.loads, done.stdout.splitlines())
    total = json.loads(done.stderr)
    expected = sum(word.log_p for word in accord.load(tiny_run.folder).score(SENTENCE))
    expected /= math.log(2) if unit == "bits" else 1
    assert line["log_p"] == pytest.approx(expected, abs=1e-9)
    assert sum(word["log_p"] for word in line["words"]) == pytest.approx(expected)
    assert total["log_p"] == pytest.approx(expected) and line["unit"] == total["unit"] == unit
    assert f" {unit}," in score(SENTENCE, "--unit", unit, "--run", tiny_run.folder).stdout


def test_guessers_are_measured_side_by_side_on_the_same_words():
    treebank = str(Path(__file__).parents[2] / "data" / "accords.conllu")
    coverage = ["lexicon", "coverage", treebank, "--lexicon", "tiny", "--guesser"]
    said = answered(*coverage, "guesser")
    assert "most frequent gaps: " in said.stdout
    assert "| held-out lemmas " in said.stdout and "| unknown words of the treebank " in said.stdout
    said = invoked(*coverage, "guesser,oracle")
    assert said.exit_code == 2
    assert "--guesser: expected some of guesser" in said.stderr and "got 'oracle'" in said.stderr
