"""A training keeps the memory that it frees."""

import platform
import subprocess
import sys

import pytest

MEASURED = """
import resource
import numpy as np
from accord.models.common.device import freed_memory_kept

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
