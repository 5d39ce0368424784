"""A network is made without room and takes its weights, whatever its recipe."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from accord.models.common.weights import load_tensors, parameters_of, save_tensors
from accord.models.inference.torch_model import in_torch
from accord.models.recipe import Recipe
from accord.pipeline.data.encoded import read_sentences
from accord.pipeline.model.encoding import FullEncoding
from accord.pipeline.model.network import build, load_trained

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


@pytest.fixture
def inputs(tiny_run, tmp_path):
    found = {
        stage: artefact.folder
        for (model, stage), artefact in tiny_run.artefacts.items()
        if model == "ll-rnn"
    }
    return found | {"train": tmp_path}


@pytest.mark.parametrize("changes", RECIPES, ids=str)
def test_it_scores_as_the_network_that_was_saved(inputs, changes):
    recipe = Recipe(**SMALL | changes, device="cpu")
    (inputs["train"] / "recipe.json").write_text(json.dumps(asdict(recipe)))
    built = build(recipe, inputs).eval()
    save_tensors(parameters_of(built), inputs["train"] / "weights.safetensors")
    found = load_trained(FullEncoding(inputs))
    text = read_sentences(inputs["encode"], "valid")
    assert np.array_equal(in_torch(found).score(text), in_torch(built).score(text))
    assert all(parameter.device.type == "cpu" for parameter in found.parameters())


def test_weights_of_another_network_are_refused(inputs):
    recipe = Recipe(**SMALL, device="cpu")
    (inputs["train"] / "recipe.json").write_text(json.dumps(asdict(recipe)))
    path = inputs["train"] / "weights.safetensors"
    save_tensors(parameters_of(build(recipe, inputs)), path)
    tensors = load_tensors(path)
    save_tensors(tensors | {"embedding.weight": tensors["embedding.weight"][:, 1:]}, path)
    with pytest.raises(ValueError, match=r"weights\.safetensors: embedding\.weight: expected"):
        load_trained(FullEncoding(inputs))
