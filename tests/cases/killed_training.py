"""Trainings that are killed at random moments: `python killed_training.py FOLDER TIMES`.

One process prepares, and each training is a fork of it: nothing but the training takes time.
"""

import os
import random
import shutil
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

from training_cases import RECIPE, model, sentences

from accord.models.common.files import CURVE
from accord.models.train import Trainer

TEXT = sentences()
# No training may import torch's compiler, which takes longer than these trainings do.
sys.modules["torch._dynamo"] = None  # type: ignore[assignment]  # importing it is now an error


def start(folder: Path) -> int:
    """Return a process that trains into the folder."""
    child = os.fork()
    if not child:
        Trainer(model(), replace(RECIPE, checkpoint_steps=3), folder).fit(TEXT, TEXT)
        os._exit(0)
    return child


def exit_code(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_and_resume(folder: Path, moment: float) -> Path | None:
    """Train, kill after so many seconds, go on; return the newest checkpoint, if any."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    child = start(folder)
    time.sleep(moment)
    os.kill(child, signal.SIGKILL)
    if exit_code(child) == 0:
        return None
    newest = max(folder.glob("checkpoint-*"), default=folder)
    if exit_code(start(folder)) != 0:
        sys.exit(f"the training killed after {moment} s did not go on")
    return newest


def content_of(folder: Path) -> dict[str, bytes]:
    """Return the files of a training; of the curve, which has times, only the name."""
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    return files | {CURVE: b""}


def main(folder: Path, times: int) -> None:
    whole = folder / "whole"
    whole.mkdir()
    began = time.monotonic()
    assert exit_code(start(whole)) == 0
    duration = time.monotonic() - began
    expected, chance = content_of(whole), random.Random(times)
    names: list[str] = []
    while len(names) < times:
        checkpoint = kill_and_resume(folder / "killed", chance.uniform(0, duration))
        if checkpoint:
            names.append(checkpoint.name)
            if content_of(folder / "killed") != expected:
                sys.exit(f"killed at {checkpoint.name}: not what was trained without a break")
    resumed = sum(name.startswith("checkpoint-") for name in names)
    print(f"{times} of {times} killed trainings ended bit-equal, {resumed} from a checkpoint")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
