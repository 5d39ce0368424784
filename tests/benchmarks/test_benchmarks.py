"""What is measured is what it says, and each command runs."""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.outputs import (
    BUNDLES,
    FREQUENT,
    MORPHOLOGY,
    OUTPUTS,
    BenchSetting,
    Training,
    vocabulary,
)
from benchmarks.page import measure_waits
from benchmarks.training_step import Stepper

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("words", [5_000, 20_000])
def test_the_vocabulary_grows_and_its_signatures_do_not(words):
    features, mass = vocabulary(words)
    assert features.vocabulary_size == len(mass) == words
    assert features.signature_count == FREQUENT + BUNDLES
    assert features.feature_count == FREQUENT + MORPHOLOGY
    assert len(np.unique(features.signature[:FREQUENT])) == FREQUENT
    assert (np.diff(mass) < 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("output", OUTPUTS)
def test_every_output_learns(output):
    training = Training(BenchSetting(output, 5_000, batch=2))
    before = training.loss().item()
    assert all(training.step() > 0 for _ in range(5))
    assert training.loss().item() < before


@pytest.fixture
def printed(monkeypatch, capsys):
    """What a command prints."""

    def run(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["benchmarks", *words])
        with suppress(SystemExit):  # after `--help`
            main()
        return capsys.readouterr().out

    return run


def test_it_explains_itself_and_each_command(printed):
    commands = ("output", "step", "inference", "scale", "page", "layout", "mutate")
    for command in commands:
        assert "--help" in printed(command, "--help")


@pytest.mark.slow
def test_two_checkouts_step_in_turn_and_wait_for_each_other(monkeypatch, printed):
    idle = []

    class Watched(Stepper):
        def seconds(self) -> float:
            start = cpu_seconds(self.process.pid)
            time.sleep(0.2)
            idle.append(cpu_seconds(self.process.pid) - start)
            return super().seconds()

    monkeypatch.setattr("benchmarks.training_step.Stepper", Watched)
    old, new, ratio = printed("step", "--before", str(ROOT), "--rounds", "1").splitlines()
    assert old.split()[0] == "before" and new.split()[0] == "now"
    assert float(ratio.split()[0]) > 0
    assert max(idle) < 0.015, "a step takes longer"


def cpu_seconds(process: int) -> float:
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def test_the_bench_waits_for_the_page_and_for_each_sentence(tiny_run):
    waits = measure_waits([tiny_run.folder], ["Les chiens dorment.", "Le chat dort."])
    assert 0 < waits.page < waits.answer
    assert len(waits.sentences) == 2
