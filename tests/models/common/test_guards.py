"""A training whose numbers stop being numbers stops too, and says where."""

import csv
import math
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import torch
from training_cases import RECIPE, model, sentences

from accord.models.data import batches
from accord.models.train import STEPS, Trainer

TEXT = sentences()
SAVING = replace(RECIPE, checkpoint_steps=4)


def train_and_poison(folder, after: int, recipe=SAVING) -> str:
    """Train until a weight becomes NaN after so many steps; what is said then."""
    done = 0

    def on_step(words: int) -> None:
        nonlocal done
        done += 1
        if done == after:
            torch.nn.init.constant_(trainer.model.embedding.weight, math.nan)

    trainer = Trainer(model(), recipe, folder, on_step)
    with pytest.raises(FloatingPointError) as stopped:
        trainer.fit(TEXT, TEXT)
    return str(stopped.value)


@pytest.mark.slow
@pytest.mark.parametrize(("after", "steps_between"), [(5, 4), (5, 0), (9, 4)])
def test_the_step_its_batch_and_the_last_good_checkpoint_are_named(tmp_path, after, steps_between):
    recipe = replace(RECIPE, checkpoint_steps=steps_between)
    said = train_and_poison(tmp_path, after, recipe)
    assert f"is not finite at epoch 1, step {after + 1}," in said
    generator = np.random.default_rng([RECIPE.seed, 1])
    batch = next(islice(batches(TEXT, recipe, generator), after, None))
    firsts = [np.flatnonzero(TEXT.starts <= place)[-1] + 1 for place in batch.positions[0]]
    assert f"sentences {', '.join(map(str, firsts))} of the training text" in said
    kept = sorted(tmp_path.glob("checkpoint-*"))
    if steps_between:
        assert said.endswith(f"the last good checkpoint is {kept[-1]}")
        assert f"-{after - after % 4:08}-" in kept[-1].name
    else:
        assert said.endswith("no checkpoint was written")


@pytest.mark.slow
def test_weights_that_are_no_numbers_are_not_saved(tmp_path):
    assert "a weight is not finite after epoch 1, step 8" in train_and_poison(tmp_path, after=8)
    assert max(tmp_path.glob("checkpoint-*")).name.startswith("checkpoint-00001-00000004-")


@pytest.mark.slow
def test_a_validation_that_is_no_number_stops(tmp_path):
    steps = sum(1 for _ in batches(TEXT, RECIPE, np.random.default_rng([RECIPE.seed, 1])))
    said = train_and_poison(tmp_path, after=steps, recipe=replace(RECIPE, ema=0.0))
    assert said.startswith("the validation loss of epoch 1 is nan")


@pytest.mark.slow
def test_every_step_is_logged_with_its_gradient_and_learning_rate(tmp_path):
    recipe = replace(RECIPE, max_grad_norm=0.5, ema=0.0)
    trainer = Trainer(model(), recipe, tmp_path)
    trainer.fit(TEXT, TEXT)
    with (tmp_path / STEPS).open() as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    for epoch in trainer.curve:
        logged = [row for row in rows if row["epoch"] == epoch.epoch]
        assert [row["step"] for row in logged] == list(range(1, len(logged) + 1))
        assert {row["learning_rate"] for row in logged} == {epoch.learning_rate}
        assert min(row["nats"] for row in logged) < epoch.train_nats
        assert max(row["nats"] for row in logged) > epoch.train_nats
        assert all(0 < row["gradient_norm"] < 100 for row in logged)


@pytest.mark.slow
def test_deterministic_computing_is_as_the_recipe_says_and_changes_no_number_on_a_cpu(tmp_path):
    weights = []
    for wanted in (True, False):
        folder = tmp_path / str(wanted)
        folder.mkdir()
        Trainer(model(), replace(RECIPE, deterministic=wanted), folder).fit(TEXT, TEXT)
        assert torch.are_deterministic_algorithms_enabled() == wanted
        weights.append((folder / "weights.safetensors").read_bytes())
    assert weights[0] == weights[1]
