"""Recipes that were written before their settings belonged to parts are read as what they meant."""

import json
from pathlib import Path

import pytest

from accord.models.recipe import Recipe

# All keys that a recipe of version 0.1.0 had, as an exported model's folder holds them.
BEFORE = json.loads((Path(__file__).parents[1] / "data" / "recipe-before.json").read_text())
BASE = {"layers": 1, "embedding": 48, "hidden": 48, "learning_rate": 0.005, "batch": 8, "bptt": 20}
BASE |= {"epochs": 30}


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({}, {}),
        (
            {"expert": {"kind": "copy", "reach": 5}, "temperature": True},
            {
                "output": {
                    "kind": "expert",
                    "expert": {"kind": "copy", "reach": 5},
                    "temperature": True,
                }
            },
        ),
        (
            {"temperature": True, "calibration": True, "background_gate": True},
            {
                "output": {
                    "kind": "log-linear",
                    "temperature": True,
                    "calibration": True,
                    "background_gate": True,
                }
            },
        ),
        (
            {"pretraining": "background", "pretraining_epochs": 2},
            {"phases": {"pretraining": {"use": "background", "epochs": 2}}},
        ),
        (
            {"layers": 2, "growth": 2, "growth_epochs": 3},
            {"layers": 2, "phases": {"growth": {"times": 2, "epochs": 3}}},
        ),
        (
            {"condition": "input", "condition_dropout": 0.1},
            {"condition": {"kind": "input", "dropout": 0.1}},
        ),
        (
            {"teacher": ["rnn"], "distillation": 0.4, "distillation_top": 50},
            {"teachers": {"models": ("rnn",), "weight": 0.4, "top": 50}},
        ),
        (
            {"activation_penalty": 1.0, "past_decode": 0.1, "fraternal": 0.1},
            {"losses": {"activation": 1.0, "past_decode": 0.1, "fraternal": 0.1}},
        ),
        (
            {"optimiser": "sgd", "momentum": 0.9, "lr_decay": 2.0},
            {
                "optimiser": {"kind": "sgd", "momentum": 0.9},
                "schedule": {"kind": "plateau", "decay": 2.0},
            },
        ),
        (
            {"tied": False, "solver": "evolution", "generations": 2},
            {"tied": False, "solver": {"kind": "evolution", "generations": 2}},
        ),
        ({"output": "softmax"}, {"output": "softmax"}),
    ],
    ids=lambda said: "-".join(said) if said else "as it was",
)
def test_a_recipe_of_before_is_read_as_what_it_meant(before, now):
    assert Recipe.read(BEFORE | before) == Recipe(**BASE | now)
    assert Recipe.read(BEFORE | before).teachers == Recipe(**BASE | now).teachers


@pytest.mark.parametrize(
    ("before", "fault"),
    [
        ({"expert": "copy", "calibration": True}, "calibration: expected output: log-linear"),
        ({"output": "softmax", "temperature": True}, "temperature: expected output: log-linear"),
        ({"output": "softmax", "expert": "copy"}, "expert: expected a log-linear output"),
    ],
    ids=str,
)
def test_what_a_part_of_before_could_not_have_is_refused(before, fault):
    with pytest.raises(ValueError, match=fault):
        Recipe.read(BEFORE | before)
