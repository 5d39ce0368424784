"""Models of runs teach others, here and where models are trained elsewhere."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from run_cases import train_packed

import accord
from accord.pipeline.model.find import find
from accord.pipeline.run.pack import pack, unpack
from accord.pipeline.run.sweep import _train

ROOT = Path(__file__).parents[3]
ONE_EPOCH = ["train.epochs=1", "analyse.protocol=closed"]


@pytest.fixture(scope="module")
def taught_by(tmp_path_factory, slow):
    """A folder of runs, one of which has two teachers that each left half of the text out."""
    runs = tmp_path_factory.mktemp("runs")
    for fold in (1, 2):
        changes = [*ONE_EPOCH, "train.folds=2", f"train.fold={fold}"]
        chosen = {"models": ["ll-rnn"], "name": f"fold-{fold}", "until": "evaluate"}
        accord.run("tiny", set=changes, **chosen, runs=runs)
    return runs


def changes(runs: Path) -> list[str]:
    return [
        *ONE_EPOCH,
        f"train.teachers={{models: [{runs / 'fold-1'}, {runs / 'fold-2' / 'll-rnn'}]}}",
    ]


def test_a_model_is_taught_by_those_of_runs_and_known_by_their_files(taught_by, capsys):
    chosen = {"models": ["ll-rnn"], "until": "evaluate", "runs": taught_by}
    this = accord.run("tiny", set=changes(taught_by), name="student", **chosen)
    train = this.artefacts["ll-rnn", "train"]
    written = json.loads((train.folder / "recipe.json").read_text())
    assert written["teachers"]["models"] == ["fold-1", "ll-rnn"]
    assert sum(name.endswith("weights.safetensors") for name in train.meta["data"]) == 2
    plain = accord.run("tiny", set=ONE_EPOCH, name="plain", **chosen)
    steps = [
        (run.artefacts["ll-rnn", "train"].folder / "steps.csv").read_text() for run in (this, plain)
    ]
    assert steps[0] != steps[1]
    assert accord.load(this.folder).score("Le chat dort.")


def test_teachers_are_packed_with_the_student_and_teach_the_same_elsewhere(taught_by, tmp_path):
    packed = tmp_path / "packed"
    options = {"set": changes(taught_by), "models": ["ll-rnn"], "name": "packed"}
    job = pack("tiny", packed, **options, runs=taught_by)["ll-rnn"]
    assert len(job["recipe"]["teachers"]["models"]) == 2
    train_packed(packed)
    assert unpack(packed, runs=taught_by) == ["ll-rnn"]
    here = accord.run("tiny", **options, until="evaluate", runs=taught_by)
    elsewhere = (packed / "trained" / "ll-rnn" / "weights.safetensors").read_bytes()
    trained = here.artefacts["ll-rnn", "train"].folder
    expected = accord.load(here.folder).score("Le chat dort.")
    assert (trained / "weights.safetensors").read_bytes() == elsewhere
    (found,) = find(packed / "trained" / "ll-rnn")
    assert found.folders["train"] == packed / "trained" / "ll-rnn"
    assert accord.load(packed, "ll-rnn").score("Le chat dort.") == expected


TOGETHER = """
base: tiny
analyse: {protocol: closed}
train: {epochs: 1}
models:
  fold-1: {train: {folds: 2, fold: 1}}
  fold-2: {train: {folds: 2, fold: 2}}
  student: {train: {teachers: {models: [PACKED/trained/fold-1, PACKED/trained/fold-2]}}}
"""
WITHOUT = "pandas pyarrow spacy yaml typer"  # what is not where models are trained


def test_teachers_and_their_student_are_trained_elsewhere_in_one_call(taught_by, tmp_path, capsys):
    packed, config = tmp_path / "packed", tmp_path / "together.yaml"
    config.write_text(TOGETHER.replace("PACKED", str(packed)))
    assert pack(str(config), packed, runs=taught_by)["student"]["taught by"] == [
        "fold-1",
        "fold-2",
    ]
    for module in WITHOUT.split():
        (tmp_path / f"{module}.py").write_text("raise ImportError(__name__)")
    command = [sys.executable, "-m", "accord.pipeline.run.sweep", str(packed), "--at-once", "3"]
    path = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    done = subprocess.run(command, cwd=ROOT, env=path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("student: test")
    assert unpack(packed, runs=taught_by) == ["fold-1", "fold-2", "student"]
    capsys.readouterr()
    accord.run(str(config), until="evaluate", runs=taught_by)
    assert "train [" not in capsys.readouterr().err


def test_a_student_is_not_trained_without_its_teachers(taught_by, tmp_path):
    packed, config = tmp_path / "packed", tmp_path / "together.yaml"
    config.write_text(TOGETHER.replace("PACKED", str(packed)))
    with pytest.raises(FileNotFoundError, match="trained before it teaches; found none"):
        accord.run(str(config), runs=taught_by)
    with pytest.raises(ValueError, match=r"expected models of .* that come before the one they"):
        pack(str(config), packed, models=["fold-1", "student"], runs=taught_by)
    pack(str(config), packed, runs=taught_by)
    with pytest.raises(ValueError, match="expected its teacher fold-1 to be trained"):
        _train(packed, "student")


def test_what_cannot_teach_is_refused(taught_by, tmp_path):
    settings = [*ONE_EPOCH, f"train.teachers={{models: [{tmp_path / 'nothing'}]}}"]
    with pytest.raises(FileNotFoundError, match="a run, RUN/MODEL, PACKED"):
        accord.run("tiny", set=settings, runs=tmp_path / "runs")
    other = [*changes(taught_by), "corpus.seed=7"]
    with pytest.raises(ValueError, match="expected a model over the same words"):
        accord.run("tiny", set=other, models=["ll-rnn"], runs=taught_by)
