"""A training that is interrupted at any moment ends as if it had not been."""

import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from query_cases import scored
from training_cases import RECIPE, log_linear, model, sentences

from accord.models.common.files import CURVE
from accord.models.train import Trainer

TEXT = sentences()
SAVING = replace(RECIPE, checkpoint_steps=4, checkpoint_seconds=0.0)
KILLED = Path(__file__).parents[1] / "cases" / "killed_training.py"


class Steps:
    """Counts the steps of a training, and acts after one of them."""

    def __init__(self, last: int = 0, act=lambda: None):
        self.count, self.last, self.act = 0, last, act

    def __call__(self, words: int) -> None:
        self.count += 1
        if self.count == self.last:
            self.act()


def interrupt():
    raise KeyboardInterrupt


def train(folder: Path, on_step=lambda words: None, recipe=SAVING, **callbacks) -> Trainer:
    """Return a finished training of a new model in a folder."""
    folder.mkdir(exist_ok=True)
    changes = {key: value for key, value in vars(recipe).items() if value != getattr(RECIPE, key)}
    trainer = Trainer(model(**changes), recipe, folder, on_step, **callbacks)
    trainer.fit(TEXT, TEXT)
    return trainer


def outcome(folder: Path) -> dict[str, bytes]:
    """Return the files of a training, the curve without times."""
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    rows = files[CURVE].decode().splitlines()
    return files | {CURVE: "\n".join(",".join(row.split(",")[:4]) for row in rows).encode()}


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"schedule": "linear", "output": log_linear(temperature=True), "zero_state": 0.3},
        {"text": "sentences", "optimiser": "rmsprop", "encoder": "gru"},
        {"optimiser": "sgd", "encoder": "window", "weight_dropout": 0.0, "ema": 0.0},
        {"optimiser": "muon", "schedule": "inverse"},
        {"losses": {"past_decode": 0.1, "fraternal": 0.5}},
    ],
    ids=lambda changes: changes.get("optimiser", "adamw"),
)
def test_an_interrupt_after_any_step_loses_at_most_the_steps_since_a_checkpoint(tmp_path, changes):
    recipe = replace(SAVING, **changes)
    steps = Steps()
    train(tmp_path / "whole", steps, recipe)
    for last in range(1, steps.count, 21):  # at a checkpoint, or some steps after one
        parts = tmp_path / f"parts-{last}"
        first, rest = Steps(last, interrupt), Steps()
        with pytest.raises(KeyboardInterrupt):
            train(parts, first, recipe)
        train(parts, rest, recipe)
        assert first.count + rest.count <= steps.count + SAVING.checkpoint_steps
        assert outcome(parts) == outcome(tmp_path / "whole")


@pytest.mark.slow
def test_a_finished_training_is_not_repeated(tmp_path):
    train(tmp_path / "whole")
    steps = Steps()
    again = train(tmp_path / "whole", steps)
    assert steps.count == 0
    assert (scored(again.model, TEXT) == scored(train(tmp_path / "other").model, TEXT)).all()


@pytest.mark.slow
def test_a_damaged_checkpoint_is_named_and_the_one_before_it_used(tmp_path):
    train(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "parts", Steps(15, interrupt))
    older, newer = sorted((tmp_path / "parts").glob("checkpoint-*"))
    content = bytearray(newer.read_bytes())
    content[len(content) // 2] ^= 1
    newer.write_bytes(content)
    lines: list[str] = []
    train(tmp_path / "parts", say=lines.append)
    assert lines[0].startswith(f"{newer} was damaged")
    assert f"step {int(older.name.split('-')[2])}" in lines[1]
    assert outcome(tmp_path / "parts") == outcome(tmp_path / "whole")


@pytest.mark.slow
def test_a_training_resumes_with_other_checkpoints_but_not_with_another_recipe(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path, Steps(15, interrupt))
    with pytest.raises(
        ValueError, match=r"has a training with max_grad_norm 1\.0, which cannot go on"
    ):
        train(tmp_path, recipe=replace(SAVING, max_grad_norm=2.0))
    train(tmp_path, recipe=replace(SAVING, checkpoint_steps=0))


@pytest.mark.slow
def test_a_full_disk_leaves_the_last_good_checkpoint(tmp_path):
    """The file-size limit of the process stands for a disk that is full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, limits[1]))

    steps, rest = Steps(), Steps()
    train(tmp_path / "whole", steps)
    try:
        with pytest.raises(OSError, match="too large"):
            train(tmp_path / "parts", Steps(9, fill))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list((tmp_path / "parts").glob(".*"))
    train(tmp_path / "parts", rest)
    assert rest.count == steps.count - 8, "the last good one was written after step 8"
    assert outcome(tmp_path / "parts") == outcome(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("times", [3, pytest.param(100, marks=pytest.mark.long)])
def test_killed_trainings_end_bit_equal(tmp_path, times):
    command = [sys.executable, str(KILLED), str(tmp_path), str(times)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{times} of {times} killed trainings ended bit-equal")
