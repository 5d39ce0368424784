"""What a process is told: threads that wait sleep, and freed memory is kept."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

MEASURED = """
import resource
import numpy as np
from accord.models.common.weights import freed_memory_kept

def faults_of_a_block():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.ones(100_000_000, dtype=np.uint8)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

small = resident()
with freed_memory_kept():
    first, second, kept = faults_of_a_block(), faults_of_a_block(), resident()
print(first, second, kept - small, resident() - small)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="what glibc's malloc is told")
@pytest.mark.slow
def test_a_freed_block_is_used_again_and_given_back_at_the_end():
    printed = subprocess.run(
        [sys.executable, "-c", MEASURED], capture_output=True, text=True, check=True
    )
    first, second, kept, left = map(int, printed.stdout.split())
    assert second < first / 10  # no page is asked for again
    assert kept > 90_000_000
    assert left < 10_000_000


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
