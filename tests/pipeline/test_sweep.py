"""Models packed, trained elsewhere and unpacked are the ones that a run would have trained."""

import subprocess
import sys
from pathlib import Path

import pytest

import pipeline
from pipeline import api

ROOT = Path(__file__).parents[2]
PAPER_LIMIT = 40 * 2**20  # bytes that the nine models of the preset may take on the way


def swept(folder: Path) -> str:
    command = [sys.executable, "-m", "pipeline.sweep", str(folder), "--at-once", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("protocol", ["open", "closed"])
def test_what_was_trained_elsewhere_is_not_trained_again(tmp_path, capsys, protocol):
    packed, runs = tmp_path / "packed", tmp_path / "runs"
    changes = ["train.epochs=1", f"analyse.protocol={protocol}"]
    assert set(api.pack("tiny", packed, set=changes, runs=runs)) == {"rnn", "ll-rnn"}
    assert bool(list(packed.rglob("spelling.json"))) == (protocol == "open")
    said = swept(packed)
    assert all(f"\n{model}: test" in f"\n{said}" for model in ("rnn", "ll-rnn"))
    assert set(api.unpack(packed, runs=runs)) == {"rnn", "ll-rnn"}
    capsys.readouterr()
    pipeline.run("tiny", set=changes, runs=runs)
    assert "train [" not in capsys.readouterr().err


def test_the_papers_models_are_small_enough_to_carry(tmp_path, shared_data):
    packed = tmp_path / "packed"
    assert len(api.pack("paper", packed, runs=tmp_path / "runs")) == 9
    assert sum(path.stat().st_size for path in packed.rglob("*.*")) < PAPER_LIMIT
