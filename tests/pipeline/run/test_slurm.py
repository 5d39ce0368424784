"""The script for Slurm in docs/scale.md trains one model on two nodes, here two processes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import accord
from accord.pipeline.model.find import find

ROOT = Path(__file__).parents[3]
# `srun` starts the command on each node; here both nodes are this machine.
COMMANDS = {
    "scontrol": "echo localhost",
    "srun": '"$@" & first=$!\n"$@"; second=$?\nwait $first && exit $second',
    "torchrun": f'exec {sys.executable} -m torch.distributed.run "$@"',
}


@pytest.mark.long
def test_the_losses_on_two_nodes_are_those_of_one_process(tmp_path):
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    [script] = re.findall(r'```bash title="train.sbatch"\n(.*?)```', page, re.DOTALL)
    (tmp_path / "train.sbatch").write_text(script)
    for name, line in COMMANDS.items():
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/bash\n{line}\n")
        path.chmod(0o755)
    chosen = {"set": {"train.epochs": 3}, "models": ["ll-rnn"]}
    one = accord.run("tiny", **chosen, until="train", runs=tmp_path / "one")
    two = accord.run("tiny", **chosen, until="encode", runs=tmp_path / "two").folder
    slurm = {"SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_ID": "49"}
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, **slurm, "PATH": path, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "train.sbatch", str(two)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ll-rnn: trained") == 1, "only the first process writes"
    folders = one.artefacts["ll-rnn", "train"].folder, find(two)[0].folders["train"]
    steps = [pd.read_csv(folder / "steps.csv")["nats"] for folder in folders]
    assert len(steps[0]) == len(steps[1])
    largest = (steps[0] - steps[1]).abs().max()
    print(f"{len(steps[0])} steps, losses differ by at most {largest:.1e} nats")
    assert largest < 1e-4
