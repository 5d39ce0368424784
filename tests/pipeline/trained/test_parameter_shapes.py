"""The shapes of a network's parameters are known without making it, whatever its recipe."""

import pytest

from accord.models.common.weights import shapes_of
from accord.models.recipe import Recipe
from accord.pipeline.trained.network import build, parameter_shapes

SMALL = {"embedding": 8, "hidden": 16, "layers": 2}
ENCODERS = ("lstm", "gru", "elman", "irnn", "jordan", "scrn", "window", "transformer", "reservoir")
OUTPUTS = ["softmax", "self-normalised", "adaptive", "sampled", "noise-contrastive", "background"]
RECIPES = [
    *({"encoder": name} for name in ENCODERS),
    *({"output": name} for name in OUTPUTS),
    {"tied": False},
    {"tied": False, "input": "words"},
    {"phases": {"pretraining": {"use": "background"}}},
    {"output": {"kind": "log-linear", "background_gate": True}},
]


@pytest.mark.parametrize("changes", RECIPES, ids=str)
def test_they_are_those_of_the_network_that_is_built(tiny_run, changes):
    inputs = {
        stage: artefact.folder
        for (model, stage), artefact in tiny_run.artefacts.items()
        if model == "ll-rnn"
    }
    recipe = Recipe(**SMALL | changes)
    network = build(recipe, inputs)
    assert parameter_shapes(recipe, inputs) == shapes_of(dict(network.named_parameters()))
    assert all(parameter.device.type == "cpu" for parameter in network.parameters())
