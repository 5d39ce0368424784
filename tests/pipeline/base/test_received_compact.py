"""A compact folder from a stranger: refused in a line where it is not sound, and in little room.

Each is a sound folder but for one thing, and has the right hashes: nothing else gives it away.
"""

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import received_cases
import torch
from received_cases import seal

import accord
from accord.models.common.weights import load_tensors, save_tensors
from accord.pipeline.base.artefact import read_json, write_json

SENTENCE = "Le zyglotron dort."
SHARD = "model-00001-of-00001.safetensors"


@pytest.fixture(scope="module")
def exported(tiny_run, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("exports") / "sound"
    return accord.export(tiny_run.folder, "ll-rnn", folder, compact=True)


@pytest.fixture
def folder(exported, tmp_path) -> Path:
    return shutil.copytree(exported, tmp_path / "stranger")


def refused(folder: Path, *said: str) -> None:
    seal(folder)
    received_cases.refused(folder, SENTENCE, *said)


def changed(folder: Path, name: str, **change: Callable | np.ndarray) -> None:
    with np.load(folder / name) as found:
        arrays = dict(found)
    for key, value in change.items():
        arrays[key] = value(arrays[key]) if callable(value) else value
    np.savez_compressed(folder / name, **arrays)


ARRAYS = {
    "that would inflate": ("words.npz", {"count": np.zeros(1 << 28, np.uint8)}, "it claims"),
    "fewer counts than words": ("words.npz", {"count": lambda a: a[1:]}, "count: expected"),
    "letters left out": ("words.npz", {"letters": lambda a: a[1:]}, "bytes long together"),
    "a signature that is none": (
        "words.npz",
        {"signature": lambda a: a + np.int64(9999)},
        "signature",
    ),
    "a share of infinity": ("words.npz", {"shares": lambda a: a + np.inf}, "expected finite"),
    "an array too many": ("words.npz", {"more": np.arange(3)}, "expected the arrays"),
    "features without end": ("phi.compact.npz", {"feature_count": np.array(10**10)}, "at most"),
    "a feature that is none": (
        "phi.compact.npz",
        {"indices": lambda a: a + np.int64(9999)},
        "indices",
    ),
    "no number": ("phi.compact.npz", {"values": lambda a: a * np.nan}, "expected finite"),
    "rows of vectors that are not there": (
        "phi.compact.npz",
        {"vector": np.zeros(1, np.uint8)},
        "expected the vectors of its dense features",
    ),
    "letters' counts of 0": ("letters.npz", {"counts": lambda a: a * 0}, "letters.npz"),
    "classes of no share": ("letters.npz", {"shares": lambda a: a + 1}, "share of numbers"),
    "levels too long": ("letters.npz", {"keys": lambda a: a * 100}, "letters.npz"),
}


@pytest.mark.parametrize("what", ARRAYS)
def test_arrays_that_are_refused(folder, what):
    name, change, said = ARRAYS[what]
    changed(folder, name, **change)
    refused(folder, str(folder), said)


RECIPES = {
    "an unknown key": ({"hiden": 3}, "unknown key 'hiden'"),
    "an embedding": ({"embedding": 10**8}, "embedding.weight: expected"),
    "more units than can be counted": ({"embedding": 10**30}, "embedding.weight: expected"),
    "layers": ({"layers": 10**6}, "layers: expected at most"),
    "another encoder": ({"encoder": "gru"}, "expected"),
    "a large reservoir": ({"encoder": "reservoir", "hidden": 10**8}, "expected"),
}


@pytest.mark.parametrize("what", RECIPES)
def test_recipes_that_are_refused(folder, what):
    change, said = RECIPES[what]
    path = folder / "recipe.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    refused(folder, str(folder), said)


@pytest.mark.parametrize("name", ["embedding.weight:scale", "output.bias"])
@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_weights_that_are_no_numbers_are_refused_by_name(folder, name, number):
    tensors = load_tensors(folder / SHARD)
    tensors[name][3] = number
    save_tensors(tensors, folder / SHARD)
    refused(folder, name.removesuffix(":scale"), "expected finite numbers")


def test_weights_without_their_scales_or_shards_are_refused(folder):
    tensors = load_tensors(folder / SHARD)
    scale = tensors.pop("embedding.weight:scale")
    save_tensors(tensors, folder / SHARD)
    refused(folder, "expected a scale of each")
    save_tensors(tensors | {"embedding.weight:scale": torch.ones(1, 1)}, folder / SHARD)
    refused(folder, "expected a scale of each")
    save_tensors(tensors | {"embedding.weight:scale": scale[:, :0]}, folder / SHARD)
    refused(folder, "expected a scale of each")
    other = "model-00001-of-00002.safetensors"
    (folder / SHARD).rename(folder / other)
    about = read_json(folder / "config.json")
    about["files"][other] = about["files"].pop(SHARD)
    write_json(folder / "config.json", about)
    refused(folder, "expected all shards")


@pytest.mark.parametrize("text", ['{"kind": "ngram"}', '{"kind": []}', "[]", "{"])
def test_a_background_that_is_none(folder, text):
    (folder / "about.json").write_text(text)
    refused(folder, "about.json: ")


def test_what_is_sound_is_taken(folder):
    seal(folder)
    assert accord.load(folder).score(SENTENCE)
