"""Steps that are recorded and replayed compute what they would compute one by one."""

import csv
from dataclasses import replace

import numpy as np
import pytest
import torch

from accord.models.background import NGramBackground, kneser_ney, rows_of
from accord.models.model import LanguageModel
from accord.models.recipe import Recipe
from accord.models.train import Trainer
from benchmarks.outputs import vocabulary
from benchmarks.training_step import text_of

FEATURES, MASS = vocabulary(20_000)
TEXT, VALID = text_of(MASS, 20_000), text_of(MASS, 400)
GATED = {"kind": "log-linear", "background_gate": True}
RECIPE = Recipe(
    embedding=32, hidden=32, batch=10, bptt=20, epochs=3, output=GATED, input_dropout=0,
    hidden_dropout=0, output_dropout=0,
)  # fmt: skip


def background(folds: int = 2) -> NGramBackground:
    return NGramBackground.learn(FEATURES, [TEXT], 4, kneser_ney, np.ones_like, folds)


@pytest.mark.parametrize("room", [0, 3])
def test_rows_with_room_are_those_without_and_then_none(room):
    starts, ends = torch.tensor([4, 9, 9, 0]), torch.tensor([6, 9, 12, 1])
    row, place = rows_of(starts, ends)
    roomy_row, roomy_place = rows_of(starts, ends, len(row) + room)
    assert roomy_row[: len(row)].tolist() == row.tolist()
    assert roomy_place.tolist() == place.tolist() + [-1] * room


def test_masses_are_the_same_however_much_room_there_is():
    b = background()
    contexts = b.contexts(TEXT, training=True)[:300]
    entries = b.entries(contexts)
    context = torch.from_numpy(contexts)
    mass, evidence = b.class_terms(context)[0], b.class_terms(context, split=True)[1]
    for b.room in (entries, entries + 1_000):
        torch.testing.assert_close(b.class_terms(context)[0], mass)
        torch.testing.assert_close(b.class_terms(context, split=True)[1], evidence)


def test_there_is_no_room_for_less_than_the_entries():
    b = background()
    contexts = b.contexts(TEXT)[:300]
    b.room = b.entries(contexts) - 1
    whole = background().class_terms(torch.from_numpy(contexts))[0]
    assert not torch.allclose(b.class_terms(torch.from_numpy(contexts))[0], whole)


@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="steps are recorded on a GPU alone")
@pytest.mark.parametrize(
    "changes", [{}, {"losses": {"past_decode": 0.1, "fraternal": 0.5}}], ids=len
)
def test_recorded_steps_have_the_losses_of_steps_one_by_one(tmp_path, changes):
    recipe, losses = replace(RECIPE, device="cuda", **changes), {}
    for recorded in (True, False):
        torch.manual_seed(1)
        model = LanguageModel(recipe, FEATURES, background())
        trainer = Trainer(model, recipe, tmp_path / str(recorded))
        (tmp_path / str(recorded)).mkdir()
        if not recorded:
            trainer.executor.recorded, model.encoder.reader = None, None
        trainer.fit(TEXT, VALID)
        with (tmp_path / str(recorded) / "steps.csv").open() as file:
            losses[recorded] = [float(row["nats"]) for row in csv.DictReader(file)]
    np.testing.assert_allclose(losses[True], losses[False], atol=1e-4)
