"""What is measured is what it says, and each command runs."""

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.layout import PATHS
from benchmarks.outputs import (
    BUNDLES,
    FREQUENT,
    LARGE,
    MORPHOLOGY,
    OUTPUTS,
    SMALL,
    BenchSetting,
    OutputCost,
    Training,
    draw,
    measure,
    verdicts,
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


@pytest.mark.slow
def test_memory_is_that_of_the_setting_alone():
    small, large = measure(
        [BenchSetting("softmax", words, batch=2) for words in (4_000, 24_000)], 2
    )
    assert len(small.seconds) == len(large.seconds) == 2
    # Weights, their gradients and the optimiser's two moments, of 256 numbers of four bytes each.
    assert large.peak_bytes - small.peak_bytes > 20_000 * 256 * 4 * 4


def test_verdicts_compare_round_by_round():
    def cost(output, words, seconds, peak_bytes=100):
        return OutputCost(BenchSetting(output, words), seconds, peak_bytes)

    ratios = verdicts(
        [
            cost("floor", SMALL, (1.0, 2.0, 4.0)),
            cost("log-linear", SMALL, (1.0, 2.0, 4.0)),
            cost("softmax", SMALL, (5.0, 10.0, 20.0)),
            cost("log-linear", LARGE, (2.0, 4.0, 8.0), 140),
            cost("adaptive", LARGE, (6.0, 12.0, 16.0)),
            cost("adaptive, as documented", LARGE, (26.0, 52.0, 104.0)),
        ]
    )
    assert [verdict.ratio for verdict in ratios] == [1.0, 2.0, 5.0, 13.0, 3.0, 1.4]
    assert [verdict.reached for verdict in ratios] == [True, False, True, True, True, False]


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


def test_the_costs_of_outputs_are_drawn(tmp_path):
    row = {"precision": "float32", "milliseconds": 3.0}
    draw([{"output": name, "words": 10, **row} for name in ("softmax", "floor")], tmp_path / "x")
    drawn = (tmp_path / "x.svg").read_text(encoding="utf-8")
    assert "softmax, float32" in drawn and "floor" not in drawn


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


@pytest.mark.long
def test_two_checkouts_are_laid_side_by_side(printed):
    rows = printed("layout", str(ROOT)).splitlines()[2:]
    counts = {row.split("|")[1].strip(): row.split("|")[2:4] for row in rows}
    assert all(before == after for before, after in counts.values())
    assert {name for name in counts if name.startswith(("commands", "files that"))} == {*PATHS}
    assert all(int(before.replace(",", "")) for before, _ in counts.values())


def test_the_bench_waits_for_the_page_and_for_each_sentence(tiny_run):
    waits = measure_waits([tiny_run.folder], ["Les chiens dorment.", "Le chat dort."])
    assert 0 < waits.page < waits.answer
    assert len(waits.sentences) == 2
