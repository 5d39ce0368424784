"""The runner: skips what is done, says why it reruns, and loses nothing when it is stopped."""

import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from run_cases import copy_prepared

import accord
from accord.pipeline.base.artefact import faults
from accord.pipeline.config.configuration import load_config
from accord.pipeline.model.comparison import scores
from accord.pipeline.run.run import Run

ACCORD = [sys.executable, "-m", "accord.pipeline.cli.main"]


@pytest.fixture
def runs(tmp_path, tiny_run) -> Path:
    """A copy of the finished tiny run's folder of runs, in another place."""
    shutil.copytree(tiny_run.folder.parent, tmp_path / "runs")
    return tmp_path / "runs"


def states(runs: Path, *overrides: str) -> dict[tuple[str, str], tuple[str, str]]:
    config = load_config("tiny", ["train.epochs=3", *overrides])
    return {(s.model, s.stage.name): (s.state, s.why) for s in Run(config, runs).status()}


def test_all_is_done_after_a_run_even_if_its_folder_was_moved(runs):
    assert {state for state, _ in states(runs).values()} == {"done"}


def test_a_changed_parameter_makes_its_stage_stale_and_says_why(runs):
    found = states(runs, "ll-rnn.featurise.forms=30")
    assert found["ll-rnn", "featurise"] == ("stale", "forms 60 → 30")
    assert found["ll-rnn", "analyse"][0] == "done"
    assert found["ll-rnn", "train"] == ("stale", "waits for featurise")
    assert found["rnn", "train"][0] == "done", "the key was changed for the other"


def test_the_report_is_written_anew_where_what_it_tells_changes_and_no_file_does(runs, capsys):
    changes = {"train.epochs": 3, "ll-rnn.encode.classes_by": "evenly"}
    again = accord.run("tiny", set=changes, runs=runs)
    page = (again.folder / "report" / "index.html").read_text(encoding="utf-8")
    assert "<tr><td>encode.classes_by</td><td>neighbours</td><td>evenly</td></tr>" in page
    said = capsys.readouterr().err
    assert "report: running (ll-rnn/encode.classes_by 'neighbours' → 'evenly'" in said
    assert "train [ll-rnn]" not in said


@pytest.mark.parametrize(
    ("override", "stage", "why"),
    [
        ("analyse.lexicon=lost.tsv", "analyse", r"found none at .*lost\.tsv"),
        ("train.teachers={models: [runs/lost]}", "train", r"train\.teachers: .* none at runs/lost"),
        ("corpus.source=ud-french-gsd", "corpus", "its data is not fetched yet"),
    ],
)
def test_a_lost_file_is_named_and_only_data_is_fetched(runs, monkeypatch, override, stage, why):
    monkeypatch.setenv("ACCORD_DATA", str(runs / "nothing"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(runs / "nothing"))
    state, found = states(runs, override)["ll-rnn", stage]
    assert state == "missing" and re.search(why, found), found


def test_each_of_two_files_that_are_called_alike_is_read_anew_when_it_changes(tmp_path):
    rows = ["form\tlemma\tupos\tfeats", "fille\tfille\tNOUN\tGender=Fem", ""]
    paths = [tmp_path / one / "lex" / "words.tsv" for one in "ab"]
    for path in paths:
        path.parent.mkdir(parents=True)
        path.write_text("\n".join(rows))
    chain = {"analyse.lexicon": [str(path) for path in paths]}
    accord.run("tiny", set=chain, until="analyse", runs=tmp_path / "runs")
    config = load_config("tiny", [f"analyse.lexicon={chain['analyse.lexicon']}"])
    for name, path in zip("ab", paths, strict=True):
        content = path.read_text()
        path.write_text(content.replace("Fem", "Masc"))
        found = {s.stage.name: (s.state, s.why) for s in Run(config, tmp_path / "runs").status()}
        assert found["analyse"] == ("stale", f"{name}/lex/words.tsv changed")
        path.write_text(content)


def test_variants_of_a_configuration_stand_side_by_side(runs, capsys):
    first = (runs / "tiny" / "run.json").read_bytes()
    settings = {"set": {"train.epochs": 3, "ll-rnn.train.epochs": 1}, "runs": runs}
    other = accord.run("tiny", models=["ll-rnn"], name="short", **settings)
    assert other.folder == runs / "short"
    assert set(scores(other.folder)["model"]) == {"ll-rnn"}
    assert (runs / "tiny" / "run.json").read_bytes() == first
    assert list(faults(runs / "tiny")) == list(faults(runs / "short")) == []
    said = capsys.readouterr().err
    assert "train [ll-rnn]" in said
    assert "corpus" not in said, "what they share is made once"
    with pytest.raises(ValueError, match="a run cannot be called artefacts"):
        accord.run("tiny", name="artefacts", runs=runs)


def test_what_comes_out_the_same_reruns_nothing_below_it(runs, capsys):
    accord.run("tiny", set={"train.epochs": 3}, force=["tokenise"], runs=runs)
    said = capsys.readouterr().err
    assert "tokenise [rnn]: running (forced)" in said
    assert "analyse" not in said


def test_models_that_agree_share_artefacts(tiny_run):
    shared = {"corpus", "tokenise", "analyse", "encode"}
    names = {
        stage: {artefact.folder for (_, s), artefact in tiny_run.artefacts.items() if s == stage}
        for _, stage in tiny_run.artefacts
    }
    assert {stage for stage, folders in names.items() if len(folders) == 1} == shared | {"report"}


def test_two_runs_of_the_same_seed_are_the_same_to_the_last_bit(tmp_path, tiny_run):
    again = accord.run("tiny", set={"train.epochs": 3}, runs=tmp_path)
    for key, artefact in tiny_run.artefacts.items():
        repeated = again.artefacts[key].meta["files"]
        for name, digest in artefact.meta["files"].items():
            timed = {
                "curve.csv",
                "figures.json",
                "scores.parquet",
                "scores.csv",
                "index.html",
                "table.md",
            }
            if name not in timed:
                assert repeated[name] == digest, (key, name)


def test_an_interrupt_keeps_what_is_done_and_the_next_run_resumes(tmp_path, tiny_run):
    copy_prepared(tiny_run.folder, tmp_path)
    command = [*ACCORD, "run", "tiny", "--models", "ll-rnn", "--runs", str(tmp_path)]
    command += ["--set", "train.epochs=100", "--set", "train.patience=100"]
    # A shell that starts the tests in the background has them, and what they start, ignore Ctrl-C.
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    lines = []
    for line in process.stderr:
        lines.append(line)
        if "epoch 3:" in line:
            process.send_signal(signal.SIGINT)
            break
    lines.append(process.communicate(timeout=60)[1])
    assert process.returncode == 130
    assert "interrupted: finished work is kept" in lines[-1]
    assert "Traceback" not in "".join(lines)

    again = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    line = next(line for line in again.stderr if "epoch" in line and "valid" in line)
    again.kill()
    again.wait()
    assert int(line.split("epoch ")[1].split(":")[0]) >= 4, "it resumes after epoch 3"


@pytest.mark.slow
def test_a_file_that_cannot_be_written_whole_leaves_earlier_artefacts(tmp_path, capsys):
    """The file-size limit of the process stands for a disk that is full."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    command = [*ACCORD, "run", "tiny", "--set", "train.epochs=2", "--runs", str(tmp_path)]
    done = subprocess.run(command, preexec_fn=limit, capture_output=True, text=True)
    assert done.returncode == 1
    assert "error: " in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    finished = [path for path in (tmp_path / "artefacts").iterdir() if path.name[0] != "."]
    assert {path.name.split("-")[0] for path in finished} >= {"corpus", "tokenise"}
    assert all((path / "meta.json").exists() for path in finished)
    accord.run("tiny", set={"train.epochs": 2}, until="encode", runs=tmp_path)
    assert "corpus [rnn]" not in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, pytest.param(20, marks=pytest.mark.long)])
def test_two_processes_in_one_folder_do_not_disturb_each_other(tmp_path, times):
    for number in range(times):
        runs = tmp_path / str(number)
        command = [*ACCORD, "run", "tiny", "--models", "ll-rnn", "--runs", str(runs)]
        command += ["--set", "train.epochs=1", "--set", "corpus.limit=100"]
        pair = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True)]
        time.sleep(random.Random(number).uniform(0, 4) * bool(number))  # the first two at once
        pair.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        tables = [process.communicate(timeout=600)[0] for process in pair]
        assert [process.returncode for process in pair] == [0, 0]
        assert tables[0] == tables[1]
        assert not list((runs / "artefacts").glob(".*partial"))
        assert list(faults(runs / "tiny")) == []


def test_a_finished_run_stands_until_another_is_finished_in_its_place(runs):
    manifest = (runs / "tiny" / "run.json").read_bytes()
    empty = runs / "empty.txt"
    empty.write_text("")
    with pytest.raises(ValueError, match="is empty"):
        accord.run("tiny", set={"corpus.source": str(empty)}, runs=runs)
    accord.run("tiny", set={"featurise.forms": 7}, until="encode", runs=runs)
    assert (runs / "tiny" / "run.json").read_bytes() == manifest
    assert accord.load(runs / "tiny").score("Le chat dort.")
