"""One training on several processes is the training on one."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from training_cases import RECIPE, sentences

from accord.models.common.files import CURVE, WEIGHTS
from accord.models.data import batches
from accord.models.gpu.processes import ProcessShare

STEPS, FEWER = 25, 12  # the fewer are those of other encoders
SHARED = Path(__file__).parents[1] / "cases" / "shared_training.py"


@pytest.fixture(scope="module")
def trained(tmp_path_factory, slow) -> Path:
    folder = tmp_path_factory.mktemp("shared")
    done = subprocess.run(
        [sys.executable, str(SHARED), str(folder)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folder


def losses(folder: Path) -> np.ndarray:
    with (folder / "steps.csv").open() as file:
        return np.array([float(row["nats"]) for row in csv.DictReader(file)])


@pytest.mark.parametrize("processes", [1, 2, 3, 4, 7])
def test_the_processes_read_the_columns_of_a_batch_in_order_and_each_once(processes):
    for batch in batches(sentences(), RECIPE, np.random.default_rng(0)):
        shares = [
            ProcessShare.in_row(batch.words.shape[1], rank, processes) for rank in range(processes)
        ]
        read = [share.batch(batch) for share in shares if share.counts]
        assert torch.equal(torch.cat([part.words for part in read], dim=1), batch.words)
        assert torch.equal(torch.cat([part.targets for part in read], dim=1), batch.targets)
        assert all(part.words.shape[1] for part in read)


@pytest.mark.parametrize("name", ["stream-4", "stream-moving", "sentences-4", "transformer-2"])
def test_the_losses_do_not_depend_on_the_number_of_processes(trained, name):
    alone = trained / f"{name.rpartition('-')[0]}-1"
    shared = trained / name
    expected, found = losses(alone), losses(shared)
    assert len(expected) == len(found) >= (STEPS if name.startswith("s") else FEWER)
    assert found[:STEPS] == pytest.approx(expected[:STEPS], abs=1e-5)
    one, other = load_file(alone / WEIGHTS), load_file(shared / WEIGHTS)
    assert all(torch.allclose(one[name], other[name], atol=1e-3) for name in one)


def test_validation_reads_whole_documents(trained):
    """Documents that are cut change the loss by 3e-5 here."""
    curves = (pd.read_csv(trained / f"documents-{count}" / CURVE) for count in (1, 4))
    alone, shared = (curve.valid_nats[0] for curve in curves)
    assert shared == pytest.approx(alone, abs=2e-6)


def test_only_one_process_writes(trained):
    alone, shared = ({p.name for p in (trained / f"stream-{n}").iterdir()} for n in (1, 4))
    assert alone == shared
    rows = (trained / "stream-4" / "steps.csv").read_text().splitlines()
    assert len(rows) == len(set(rows))
