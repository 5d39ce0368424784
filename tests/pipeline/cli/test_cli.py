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


@pytest.mark.slow
def test_lexicon_show_names_the_lexicon_of_a_chain_that_answers(accord):
    for word, answering in {"fille": "tiny", "1999": "closed", "blouguette": "guesser"}.items():
        shown = accord("lexicon", "show", word, "--lexicon", "closed,tiny,guesser")
        assert f"| closed,tiny,guesser: {answering} |" in shown.stdout
        rows = [line for line in shown.stdout.splitlines() if line.startswith("| tiny")]
        assert len({*rows}) == len(rows), "a lexicon is shown once"


def test_lexicons_are_separated_by_commas_with_or_without_blanks(accord):
    chains = ("closed,tiny", " closed , tiny ")
    shown = [accord("lexicon", "coverage", "tiny", "--lexicon", chain).stdout for chain in chains]
    assert shown[0] == shown[1] != ""


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
        (["run", "tiny", "--models", " ,"], 2, "--models: expected names of models, got ' ,'"),
        (["run", "tiny", "--models", "ll-rn"], 2, "no model 'll-rn'; the nearest is 'll-rnn'"),
        (["run", "tiny", "--name", "../x"], 2, "--name: expected names that begin with a letter"),
        (["run", "tiny", "--set", "corpus.source=lost.txt"], 2, "no corpus 'lost.txt'"),
        (["run", "tiny", "--set", "analyse.lexicon=tinyy"], 2, "unknown lexicon 'tinyy'"),
        (["run", "tiny", "--verify"], 1, "runs/tiny is no run"),
        (["run", "nowhere.yaml"], 1, "no configuration file nowhere.yaml"),
        (["surprisal", "Il dort."], 1, "no file Il dort.; for a sentence itself there is `accord"),
        (["score", "lost.txt"], 1, "error: no file lost.txt\n"),
        (["score", "Il dort.", "--model", "rnn"], 2, "--model rnn: a model is chosen of a run"),
        (["fetch", "lefffff"], 2, "unknown source 'lefffff'; the nearest is 'lefff'"),
    ],
)
def test_a_mistake_is_one_or_two_lines_without_a_traceback(accord, words, code, said):
    done = accord(*words)
    assert done.exit_code == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2


def test_verbose_shows_where_it_happened(tmp_path):
    asked, verbosely = (
        started(*options, "run", "tinny", cwd=tmp_path) for options in ([], ["--verbose"])
    )
    assert (asked.returncode, verbosely.returncode) == (2, 1)
    assert "Traceback" in verbosely.stderr and "Traceback" not in asked.stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        ("Le chat dort.\nUn \xe9t\xe9.\n".encode("latin-1"), "offset 17"),
    ],
)
def test_a_bad_corpus_is_named(accord, tmp_path, content, said):
    (tmp_path / "mine.txt").write_bytes(content)
    done = accord("run", "tiny", "--set", "corpus.source=mine.txt")
    assert done.exit_code == 2
    assert "mine.txt" in done.stderr and said in done.stderr
    assert "Traceback" not in done.stderr


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


def test_long_names_of_models_do_not_run_into_what_stands_behind(accord, tmp_path):
    (tmp_path / "mine.yaml").write_text("base: tiny\nmodels: {characters-by-lstm: {}, rnn: {}}\n")
    listed = accord("run", "mine.yaml", "--status").stdout.splitlines()
    assert {line.split()[1] for line in listed} == {"characters-by-lstm", "rnn", "*"}
    assert {line.split()[2] for line in listed} == {"missing"}
    assert len({line.index("missing") for line in listed}) == 1
