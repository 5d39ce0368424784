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


@pytest.mark.parametrize(
    ("module", "value", "policy"),
    [
        ("accord.models.train", None, "passive"),
        ("accord.models.train", "active", "active"),
        ("accord.pipeline.run.run", None, "passive"),
    ],
)
def test_the_policy_is_set_before_torch_is_loaded_unless_the_user_has(module, value, policy):
    environment = {name: value for name, value in os.environ.items() if name != POLICY}
    done = subprocess.run(
        [sys.executable, "-c", f"{BEFORE_TORCH}import {module}, torch"],
        cwd=ROOT,
        env=environment | ({POLICY: value} if value else {}),
        capture_output=True,
        text=True,
    )
    assert done.stderr == f"{policy}\n"
