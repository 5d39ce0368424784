"""Runs that are copied to another machine and trained there are those trained here."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from run_cases import Here, copy_prepared

import accord
from accord.models.common.files import WEIGHTS
from accord.models.common.weights import load_tensors
from accord.pipeline.base.artefact import META, Damaged, name_of, read_json, write_json
from accord.pipeline.model.find import find
from accord.pipeline.run.train import untrained

ROOT = Path(__file__).parents[3]
ALONE = [sys.executable]
TOGETHER = [*ALONE, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
ELSEWHERE = ["-m", "accord.pipeline.run.train"]
# A few of the packages that a machine which only trains does not have.
WITHOUT = ("pandas", "pyarrow", "spacy", "yaml", "typer", "rich", "msgspec", "scipy")


def train(
    run: Path, *options: str, launcher: list[str] = ALONE
) -> subprocess.CompletedProcess[str]:
    """Train a run where only torch, numpy and safetensors can be imported."""
    refusing = run.parent.parent / "refusing"
    refusing.mkdir(exist_ok=True)
    for module in WITHOUT:
        (refusing / f"{module}.py").write_text("raise ImportError(__name__)")
    path = os.pathsep.join([str(refusing), str(ROOT)])
    return subprocess.run(
        [*launcher, *ELSEWHERE, str(run), *options],
        cwd=run.parent.parent,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )


def prepare(tiny_run, there: Path, *models: str, **changes: object) -> Path:
    """Prepare a run of `tiny` in the folder of another machine."""
    copy_prepared(tiny_run.folder, there / "runs")
    changes = {"train.epochs": 3, **changes}
    return accord.run(
        "tiny", set=changes, models=models, until="encode", runs=there / "runs"
    ).folder


@pytest.mark.parametrize(
    ("launcher", "models"), [(ALONE, ["rnn", "ll-rnn"]), (TOGETHER, ["ll-rnn"])]
)
def test_a_copied_run_is_trained_elsewhere_and_taken_over(
    tmp_path, tiny_run, capsys, launcher, models
):
    run = prepare(tiny_run, tmp_path, *models)
    done = train(run, launcher=launcher)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(": trained, in ") == len(models), "only the first process speaks"
    assert untrained(run) == {}
    capsys.readouterr()
    taken = accord.run(
        "tiny", set={"train.epochs": 3}, models=models, until="train", runs=run.parent
    )
    assert "all stages of 'tiny' up to train are done" in capsys.readouterr().err
    for model in models:
        folders = [each.artefacts[model, "train"].folder for each in (taken, tiny_run)]
        curves = [pd.read_csv(folder / "curve.csv")["valid_nats"].tolist() for folder in folders]
        assert len(curves[0]) == 3 and curves[0] == pytest.approx(curves[1], abs=1e-4)
        if launcher is ALONE:
            one, other = (load_tensors(folder / "model.safetensors") for folder in folders)
            assert all((one[name] == other[name]).all() for name in one)


@pytest.fixture
def received(tmp_path, tiny_run) -> Path:
    """The folder of runs with an artefact `train` that another machine has sent."""
    shutil.copytree(tiny_run.folder.parent, tmp_path / "runs", symlinks=True)
    shutil.rmtree(tmp_path / "runs" / "tiny")
    return tmp_path / "runs"


def take_over(runs: Path) -> None:
    accord.run("tiny", set={"train.epochs": 3}, models=["ll-rnn"], until="evaluate", runs=runs)


def test_a_received_artefact_must_be_what_its_name_says(received, tiny_run):
    name = tiny_run.artefacts["ll-rnn", "train"].folder.name
    other = tiny_run.artefacts["rnn", "train"].folder.name
    shutil.rmtree(received / "artefacts" / name)
    shutil.copytree(received / "artefacts" / other, received / "artefacts" / name)
    with pytest.raises(Damaged, match=f"{name} was made as {other}; remove the folder"):
        take_over(received)
    shutil.rmtree(received / "artefacts" / name)
    take_over(received)
    meta = received / "artefacts" / name / META
    about = read_json(meta)
    about["params"]["hidden"] = 1000
    write_json(meta, about)
    assert name_of({k: v for k, v in about.items() if k not in ("format", "files")}) != name
    with pytest.raises(Damaged, match=f"{name} was made as train-"):
        take_over(received)


def test_a_received_artefact_must_have_the_hashes_that_it_states(received, tiny_run):
    name = tiny_run.artefacts["ll-rnn", "train"].folder.name
    weights = received / "artefacts" / name / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"\1\0\0\0")
    for folder in (received / "artefacts").glob("evaluate-*"):
        shutil.rmtree(folder)
    with pytest.raises(Damaged, match=rf"{WEIGHTS} is damaged"):
        take_over(received)


FAMILY = """
base: tiny
corpus: {limit: 60}
train: {epochs: 1}
models:
  student: {train: {teachers: {models: [runs/family/fold-1, runs/family/fold-2]}}}
  fold-1: {train: {folds: 2, fold: 1}}
  fold-2: {train: {folds: 2, fold: 2}}
"""


@pytest.mark.slow
def test_a_student_is_trained_after_its_teachers(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "family.yaml").write_text(FAMILY)
    run = accord.run("family.yaml", until="train", workers=Here())
    assert capfd.readouterr().err.rstrip().splitlines()[-1].startswith("student: ")
    assert len(run.artefacts["student", "train"].meta["data"]) == 2, "teachers known by their files"
    accord.run("family.yaml", until="train")
    assert "all stages of 'family' up to train are done" in capfd.readouterr().err


@pytest.fixture
def endless(tmp_path, tiny_run) -> Path:
    """A prepared run of two models; the first trains for hours."""
    endless = {"rnn.train.epochs": 100_000, "rnn.train.patience": 100_000}
    return prepare(tiny_run, tmp_path, "rnn", "ll-rnn", **{"train.epochs": 1}, **endless)


def test_a_model_whose_process_dies_ends_no_other(endless):
    parent, training = begin(endless)
    os.kill(training, signal.SIGKILL)
    said = parent.communicate()[1]
    assert parent.returncode == 1, said
    assert "rnn: failed" in said
    assert {model.name for model in find(endless)} == {"ll-rnn"}


def test_no_training_outlives_its_parent(endless):
    parent, training = begin(endless)
    parent.kill()
    parent.wait()
    for _ in range(1200):
        if not Path(f"/proc/{training}").exists():
            return
        time.sleep(0.05)
    os.kill(training, signal.SIGKILL)
    pytest.fail("it trained on for a minute")


def begin(run: Path) -> tuple[subprocess.Popen, int]:
    """Start to train a run; return the process, and that of the first model."""
    parent = subprocess.Popen(
        [*ALONE, *ELSEWHERE, str(run)], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    while not list((run.parent / "artefacts").glob(".train-*.partial/steps.csv")):
        assert parent.poll() is None, parent.stderr.read()
        time.sleep(0.05)
    children = Path(f"/proc/{parent.pid}").glob("task/*/children")
    pids = {int(pid) for file in children for pid in file.read_text().split()}
    (training,) = (
        pid for pid in pids if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    )
    return parent, training
