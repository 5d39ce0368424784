"""A network is made without room and takes its weights, whatever its recipe."""

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from accord.models.common.weights import load_tensors, parameters_of, save_tensors
from accord.models.inference.torch_model import in_torch
from accord.models.recipe import Recipe
from accord.pipeline.data.encoded import read_sentences
from accord.pipeline.model.folder import ModelFolder, read_config
from accord.pipeline.model.network import build, load_inference, load_trained

SMALL = {"embedding": 8, "hidden": 16, "layers": 2}
ENCODERS = ("lstm", "gru", "elman", "irnn", "window", "lstm-window", "transformer")
OUTPUTS = ["softmax", "self-normalised", "adaptive", "background"]
RECIPES = [
    *({"encoder": name} for name in ENCODERS),
    *({"output": name} for name in OUTPUTS),
    {"tied": False},
    {"tied": False, "input": "words"},
    {"phases": {"pretraining": {"use": "background"}}},
    {"output": {"kind": "log-linear", "background_gate": True}},
]


@pytest.fixture
def made(tiny_run) -> dict[str, Path]:
    stages = ("train", "encode")
    return {stage: tiny_run.artefacts["ll-rnn", stage].folder for stage in stages}


@pytest.fixture
def folder(made, tmp_path) -> Path:
    for path in made["train"].glob("*.npz"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def opened(folder: Path, made: dict[str, Path], recipe: Recipe) -> ModelFolder:
    """Open a folder with another recipe."""
    return ModelFolder(folder, read_config(made["train"]) | {"params": {"train": asdict(recipe)}})


@pytest.mark.parametrize("changes", RECIPES, ids=str)
def test_it_scores_as_the_network_that_was_saved(folder, made, changes):
    recipe = Recipe(**SMALL | changes, device="cpu")
    built = build(recipe, opened(folder, made, recipe), ()).eval()
    save_tensors(parameters_of(built), folder / "model.safetensors")
    loaded = load_trained(opened(folder, made, recipe))
    text = read_sentences(made["encode"], "valid")
    assert np.array_equal(in_torch(loaded).score(text), in_torch(built).score(text))
    assert all(parameter.device.type == "cpu" for parameter in loaded.parameters())


def test_weights_of_another_network_are_refused(folder, made):
    recipe = Recipe(**SMALL, device="cpu")
    path = folder / "model.safetensors"
    save_tensors(parameters_of(build(recipe, opened(folder, made, recipe), ())), path)
    tensors = load_tensors(path)
    save_tensors(tensors | {"embedding.weight": tensors["embedding.weight"][:, 1:]}, path)
    with pytest.raises(ValueError, match=r"embedding\.weight: expected"):
        load_trained(opened(folder, made, recipe))


def test_a_model_loads_where_the_device_that_trained_it_is_not(made, capsys):
    expected = load_inference(ModelFolder(made["train"]))
    elsewhere = ModelFolder(made["train"])
    elsewhere.config["params"]["train"]["device"] = "cuda:99"
    loaded = load_inference(elsewhere)
    assert "trained on cuda:99, which is not here" in capsys.readouterr().err
    text = read_sentences(made["encode"], "test")
    assert np.array_equal(loaded.score(text), expected.score(text))
