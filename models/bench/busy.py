"""What a training step costs while another program takes one core, beside one while none does."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from models.bench.output import FEW, Setting, Training

STEPS = 5  # measured before the core is taken or left again
SPIN = [sys.executable, "-S", "-c", "print(flush=True)\nwhile True: pass"]


def measure(rounds: int) -> tuple[float, float]:
    """The median seconds of a step on the machine as it is, and with one core taken, in turn."""
    training = Training(Setting(*FEW))
    for _ in range(2):  # to warm up
        training.step()
    quiet, taken = [], []
    for _ in range(rounds):
        quiet += [training.step() for _ in range(STEPS)]
        with one_core_taken():
            taken += [training.step() for _ in range(STEPS)]
    return median(quiet), median(taken)


@contextmanager
def one_core_taken() -> Iterator[None]:
    """Another program computes without a pause, as much as one core can."""
    with subprocess.Popen(SPIN, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        try:
            yield
        finally:
            other.kill()
