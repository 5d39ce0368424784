"""The command line: what it prints, its exit codes, and mistakes told in a line or two."""

import os
import subprocess
import sys
from json import loads

import pytest
from typer.testing import CliRunner

from accord.pipeline.cli.main import app


@pytest.fixture
def accord(tmp_path, monkeypatch):
    """The command line in this process, in an empty folder: starting one takes seconds."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, words)


def started(*words: str, **options) -> subprocess.CompletedProcess:
    """The command line in a process of its own."""
    command = [sys.executable, "-m", "accord.pipeline.cli.main", *words]
    return subprocess.run(command, capture_output=True, text=True, **options)


def test_a_text_whose_perplexity_no_float_holds_is_scored(tiny_run):
    command = ["score", "-", "--run", str(tiny_run.folder)]
    text, json = (
        CliRunner().invoke(app, [*command, *options], input="漢" * 200)
        for options in ([], ["--json"])
    )
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
def test_a_mistake_is_one_or_two_lines_without_a_traceback(accord, words, code, said):
    done = accord(*words)
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
    done = started("run", cwd=tmp_path, env=environment)
    assert done.returncode == 1
    assert "Online, run `accord fetch wiktionnaire`" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("options", "models"),
    [
        (["--models", "gru"], {"gru"}),
        (["--models", "gru,elman,"], {"gru", "elman"}),
        (["--models", "gru", "--models", "elman, window"], {"gru", "elman", "window"}),
    ],
)
def test_models_are_named_with_commas_or_one_by_one(accord, options, models):
    listed = accord("run", "peers", "--status", *options)
    assert listed.exit_code == 0, listed.output
    assert {line.split()[1] for line in listed.stdout.splitlines()} == models | {"*"}


@pytest.mark.slow
def test_some_models_are_run_under_another_name_and_quiet_prints_results_only(accord, tmp_path):
    chosen = ["tiny", "--models", "ll-rnn", "--name", "mine", "--set", "train.epochs=1"]
    done = accord("--quiet", "run", *chosen)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "| ll-rnn |" in done.stdout and "| rnn" not in done.stdout
    assert "report: runs/mine/report/index.html" in done.stdout
    assert {path.name for path in (tmp_path / "runs").iterdir()} == {"artefacts", "mine"}
    states = accord("run", *chosen, "--status").stdout.splitlines()
    assert {line.split()[2] for line in states} == {"done"}
