"""Models packed, trained elsewhere and unpacked are the ones that a run would have trained."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import accord
from accord.pipeline.evaluation.suites import read_suite
from accord.pipeline.model.find import JOBS
from accord.pipeline.run.pack import pack, unpack
from accord.pipeline.study.agreement import judged
from accord.pipeline.study.scored_models import find
from accord.pipeline.study.tables import compare, gather

ROOT = Path(__file__).parents[3]
PAPER_LIMIT = 40 * 2**20  # bytes that the nine models of the preset may take on the way


ALONE = [sys.executable]
TOGETHER = [*ALONE, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """Where the preparation of the tiny preset is done once for all tests here."""
    return tmp_path_factory.mktemp("runs")


def swept(folder: Path, launcher: list[str] = ALONE) -> str:
    command = [*launcher, "-m", "accord.pipeline.run.sweep", str(folder), "--at-once", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "launcher", "models"),
    [("open", ALONE, ["rnn", "ll-rnn"]), ("closed", TOGETHER, ["ll-rnn"])],
)
def test_what_was_trained_elsewhere_is_not_trained_again(
    tmp_path, runs, capsys, protocol, launcher, models
):
    packed = tmp_path / "packed"
    changes = ["train.epochs=2", f"analyse.protocol={protocol}"]
    assert [*pack("tiny", packed, set=changes, models=models, runs=runs)] == models
    assert bool(list(packed.rglob("spelling.json"))) == (protocol == "open")
    said = swept(packed, launcher)
    assert all(f"\n{model}: test" in f"\n{said}" for model in models)
    chosen = {"set": changes, "models": models}
    alone = accord.run("tiny", **chosen, until="train", runs=tmp_path / "alone")
    for model in models:
        folders = packed / "trained" / model, alone.artefacts[model, "train"].folder
        curves = [pd.read_csv(folder / "curve.csv")["valid_nats"].tolist() for folder in folders]
        assert len(curves[0]) == 2
        assert curves[0] == pytest.approx(curves[1], abs=1e-4)
    elsewhere = gather(find(str(packed)))
    assert unpack(packed, runs=runs) == models
    capsys.readouterr()
    here = accord.run("tiny", **chosen, until="evaluate", runs=runs)
    assert "train [" not in capsys.readouterr().err
    _check_same(elsewhere, gather(find(str(here.folder))))
    assert len(compare(packed)) == len(models)
    (tmp_path / "simple.txt").write_text("True\tils dorment .\nFalse\tils dort .\n")
    suite = read_suite(str(tmp_path))
    asked = [judged([folder], suite) for folder in (packed, here.folder)]
    for model in models:
        np.testing.assert_array_equal(*(each[model].margins for each in asked))
    _pack_as_before(packed)
    with pytest.raises(
        FileNotFoundError, match=rf"expected analyse of {models[0]}, found none\. `accord un"
    ):
        judged([packed], suite)


def _pack_as_before(packed: Path) -> None:
    """Folders packed by older versions came without the vocabulary and without a hash."""
    jobs = json.loads((packed / JOBS).read_text())
    del jobs["sha256"]  # nor with a hash
    for job in jobs.values():
        del job["inputs"]["analyse"]
    (packed / JOBS).write_text(json.dumps(jobs))


def _check_same(elsewhere: pd.DataFrame, here: pd.DataFrame) -> None:
    """The figures are the same wherever a model is measured, but for the time it takes."""
    is_timed = here["metric"].str.contains("second")
    assert elsewhere[["model", "split", "metric", "protocol"]].equals(
        here[["model", "split", "metric", "protocol"]]
    )
    assert elsewhere["value"][~is_timed].tolist() == pytest.approx(
        here["value"][~is_timed].tolist(), rel=1e-6
    )


@pytest.mark.slow
def test_what_was_damaged_on_the_way_is_not_trained_on_and_ends_no_other(tmp_path, runs):
    whole, damaged = tmp_path / "whole", tmp_path / "damaged"
    for packed in (whole, damaged):
        pack("tiny", packed, set=["train.epochs=1"], models=["ll-rnn"], runs=runs)
    path = next(damaged.glob("encode-*/train.ids.npy"))
    path.write_bytes(path.read_bytes()[:-4] + b"\1\0\0\0")
    done = subprocess.run(
        [*ALONE, "-m", "accord.pipeline.run.sweep", str(damaged), str(whole)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode
    assert f"ll-rnn: failed: {path} is damaged" in done.stderr
    assert {model.name for model in find(str(whole))} == {"ll-rnn"}


@pytest.fixture
def endless(tmp_path, runs) -> Path:
    """Two models, of which the first is not done in any time."""
    changes = ["train.epochs=1", "rnn.train.epochs=100000", "rnn.train.patience=100000"]
    pack("tiny", tmp_path / "packed", set=changes, runs=runs)
    return tmp_path / "packed"


@pytest.mark.slow
def test_a_model_whose_process_dies_ends_no_other(endless):
    sweep, training = _begun(endless)
    os.kill(training, signal.SIGKILL)
    said = sweep.communicate()[1]
    assert sweep.returncode == 1, said
    assert "rnn: failed" in said
    assert {model.name for model in find(str(endless))} == {"ll-rnn"}


@pytest.mark.slow
def test_no_training_outlives_a_sweep_that_is_killed(endless):
    sweep, training = _begun(endless)
    sweep.kill()
    sweep.wait()
    for _ in range(1200):
        if not Path(f"/proc/{training}").exists():
            return
        time.sleep(0.05)
    os.kill(training, signal.SIGKILL)
    pytest.fail("it trained on for a minute")


def _begun(packed: Path) -> tuple[subprocess.Popen, int]:
    """A sweep whose first model is in training, and the process that trains it."""
    command = [*ALONE, "-m", "accord.pipeline.run.sweep", str(packed), "--at-once", "1"]
    sweep = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    while not (packed / "trained" / "rnn" / "steps.csv").exists():
        assert sweep.poll() is None, sweep.stderr.read()
        time.sleep(0.05)
    children = Path(f"/proc/{sweep.pid}").glob("task/*/children")
    pids = {int(pid) for file in children for pid in file.read_text().split()}
    (training,) = (
        pid for pid in pids if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    )
    return sweep, training


@pytest.mark.long
def test_the_papers_models_are_small_enough_to_carry(tmp_path, fetched):
    for source in ("ud-french-1.4", "gsd-lexicon"):
        fetched(source)
    packed = tmp_path / "packed"
    assert len(pack("paper", packed, runs=tmp_path / "runs")) == 11
    assert sum(path.stat().st_size for path in packed.rglob("*.*")) < PAPER_LIMIT


@pytest.mark.slow
def test_a_folder_that_was_not_packed_is_refused_in_a_sentence(tmp_path):
    command = [*ALONE, "-m", "accord.pipeline.run.sweep", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert f"{tmp_path}: expected a folder that `accord pack` wrote" in done.stderr
