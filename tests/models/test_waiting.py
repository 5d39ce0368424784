"""Threads that wait for each other sleep, whichever part of Accord a program imports first."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIRST = (
    "accord.models.train",
    "benchmarks.training_step",
    "accord.pipeline.model.network",
    "accord.pipeline.run.run",
)


def heard(program: str, **environment: str) -> str:
    """What the threads' own library says of its settings when torch loads it."""
    unset = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}
    inherited = {name: value for name, value in os.environ.items() if name not in unset}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=inherited | {"OMP_DISPLAY_ENV": "true"} | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


# Says how threads wait when torch is about to be imported, and leaves.
BEFORE_TORCH = """
import os, sys

class Told:
    def find_spec(self, name, *_):
        if name == "torch":
            print(os.environ.get("OMP_WAIT_POLICY"), file=sys.stderr, flush=True)
            os._exit(0)

sys.meta_path.insert(0, Told())
"""


@pytest.mark.parametrize("module", FIRST)
def test_it_is_said_before_torch_is_loaded(module):
    assert heard(f"{BEFORE_TORCH}import {module}, torch") == "passive\n"


@pytest.mark.slow
def test_they_sleep():
    assert "OMP_WAIT_POLICY = 'PASSIVE'" in heard(f"import {FIRST[0]}, torch")


@pytest.mark.slow
def test_what_a_user_says_stands():
    said = heard(f"import {FIRST[0]}", OMP_WAIT_POLICY="active")
    assert "OMP_WAIT_POLICY = 'ACTIVE'" in said
