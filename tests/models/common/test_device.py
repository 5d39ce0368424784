"""A training keeps the memory that it frees, and shares a busy machine's cores with others."""

import platform
import subprocess
import sys

import pytest
import torch

from accord.models.common.device import Threads

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


class Machine:
    """A machine of two cores in simulated time, one of which another program may take."""

    def __init__(self, monkeypatch, threads: int = 2):
        self.now, self.lost, self.is_busy, self.threads = 0.0, 0, False, threads
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        monkeypatch.setattr(torch, "get_num_threads", lambda: self.threads)
        monkeypatch.setattr(torch, "set_num_threads", lambda count: setattr(self, "threads", count))

    def trained(self, choice: Threads, seconds: float) -> float:
        """Train for some seconds; return the share of steps that were taken by all threads."""
        end, by_all, steps = self.now + seconds, 0, 0
        while self.now < end:
            # Seconds of a step, quiet and busy, as measured on ARM with OpenBLAS.
            step = {1: (0.14, 0.14), 2: (0.1, 0.6)}[self.threads][self.is_busy]
            by_all, steps = by_all + (self.threads == 2), steps + 1
            self.now += step
            self.lost += round(step * (200 if self.is_busy else 2))
            choice.after_step(600)
        return by_all / steps


def threads_of(machine: Machine, chooses: bool = True) -> Threads:
    return Threads(chooses, lambda: machine.now, lambda: machine.lost)


def test_a_quiet_machine_uses_all_threads_for_every_step(monkeypatch):
    machine = Machine(monkeypatch)
    assert machine.trained(threads_of(machine), 300) == 1


def test_one_thread_trains_while_a_core_is_taken_and_all_when_it_is_free_again(monkeypatch):
    machine = Machine(monkeypatch)
    with threads_of(machine) as choice:
        machine.trained(choice, 10)
        machine.is_busy = True
        machine.trained(choice, 10)  # notices it
        assert machine.trained(choice, 60) < 0.1
        machine.is_busy = False
        machine.trained(choice, 25)  # tries again
        assert machine.trained(choice, 60) == 1
        machine.is_busy = True
        machine.trained(choice, 10)
    assert machine.threads == 2, "all are left to what comes after"


def test_threads_stay_as_they_are_told(monkeypatch):
    machine = Machine(monkeypatch)
    machine.is_busy = True
    assert machine.trained(threads_of(machine, chooses=False), 60) == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert machine.trained(threads_of(machine), 60) == 1
