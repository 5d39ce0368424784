"""Threads that wait for each other sleep, whichever part of Accord a program imports first."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
POLICY = "OMP_WAIT_POLICY"

# Prints the policy when torch is about to be imported, and exits.
BEFORE_TORCH = """
import os, sys

class Finder:
    def find_spec(self, name, *_):
        if name == "torch":
            print(os.environ.get("OMP_WAIT_POLICY"), file=sys.stderr, flush=True)
            os._exit(0)

sys.meta_path.insert(0, Finder())
"""


def printed(program: str, **environment: str) -> str:
    """Return what a program prints as errors; OpenMP prints its settings when torch loads it."""
    inherited = {name: value for name, value in os.environ.items() if name != POLICY}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=inherited | {"OMP_DISPLAY_ENV": "true"} | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.parametrize("module", ["accord.models.train", "accord.pipeline.run.run"])
def test_the_policy_is_set_before_torch_is_loaded(module):
    assert printed(f"{BEFORE_TORCH}import {module}, torch") == "passive\n"


@pytest.mark.slow
def test_openmp_follows_the_policy_and_a_user_may_set_another():
    program = "import accord.models.train, torch"
    assert f"{POLICY} = 'PASSIVE'" in printed(program)
    assert f"{POLICY} = 'ACTIVE'" in printed(program, OMP_WAIT_POLICY="active")
