"""A model's folder from a stranger: what it says is borne out by its weights, or it is refused.

Each is a sound folder but for one thing, and has the right hashes: nothing else gives it away.
"""

import math
import os
import resource
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from cli_cases import invoked

import accord
from accord.models.common.arrays import load_model, packed, save_shards
from accord.models.common.weights import load_tensors, save_tensors
from accord.pipeline.base.artefact import hash_of_file, read_json, write_json

SENTENCE = "Le zyglotron mange une pomme."


@pytest.fixture(scope="module")
def exported(tiny_run, tmp_path_factory) -> Path:
    return accord.export(tiny_run.folder, "ll-rnn", tmp_path_factory.mktemp("exports") / "sound")


@pytest.fixture
def folder(exported, tmp_path) -> Path:
    return shutil.copytree(exported, tmp_path / "stranger")


def seal(folder: Path) -> None:
    """Give every file the hash it has now."""
    about = read_json(folder / "config.json")
    about["files"] = {name: hash_of_file(folder / name) for name in about["files"]}
    write_json(folder / "config.json", about)


def refused(folder: Path, *expected: str) -> None:
    """The command line tells it in a line, with no figure, and takes little memory for it."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told = invoked("score", "-", "--run", str(folder), input=SENTENCE)
    assert told.exit_code in (1, 2), told.output
    assert isinstance(told.exception, SystemExit), told.exception
    assert "perplexity" not in told.stdout
    for words in expected:
        assert words in told.stderr, told.stderr
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < 200_000  # KiB


def of_config(change: Callable[[dict], None]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        about = read_json(folder / "config.json")
        change(about)
        write_json(folder / "config.json", about)

    return apply


CONFIGS = {
    "a list": lambda folder: (folder / "config.json").write_text("[]"),
    "too deep": lambda folder: (folder / "config.json").write_text("[" * 100_000),
    "no format of ours": of_config(lambda about: about.update(model_type="bert")),
    "no hashes": of_config(lambda about: about.update(files={})),
    "hashes in a list": of_config(lambda about: about.update(files=["words.npz"])),
    "a hash left out": of_config(lambda about: about["files"].pop("model.safetensors")),
    "a hash that is a list": of_config(lambda about: about["files"].update({"words.npz": []})),
    "a path": of_config(lambda about: about["files"].update({"../sound/words.npz": "00"})),
    "a device": of_config(lambda about: about["files"].update({"/dev/zero": "00"})),
}


@pytest.mark.parametrize("what", CONFIGS)
def test_a_config_that_is_refused(folder, what):
    CONFIGS[what](folder)
    refused(folder, "config.json")


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(folder):
    (folder / "words.npz").unlink()
    os.mkfifo(folder / "words.npz")
    refused(folder, "words.npz is missing")


def test_a_file_that_no_hash_vouches_for_is_refused(folder):
    np.save(folder / "classes.npy", np.arange(3))
    refused(folder, "classes.npy is not named in config.json")


RECIPES = {
    "an unknown key": ({"hiden": 3}, "unknown key 'hiden'"),
    "a wrong type": ({"hidden": "many"}, "hidden: expected int, got 'many'"),
    "a truth for a number": ({"layers": True}, "layers: expected int, got True"),
    "no choice": ({"encoder": "lstn"}, "encoder: expected"),
    "an embedding": ({"embedding": 10**8}, "embedding.weight: expected"),
    "more units than can be counted": ({"embedding": 10**30}, "embedding.weight: expected"),
    "layers": ({"layers": 10**6}, "layers: expected at most"),
    "out of range": ({"layers": 0}, "layers: expected 1 or more"),
    "not tied": ({"tied": False, "hidden": 10**8}, "expected"),
    "a pretrained background": (
        {"phases": {"pretraining": {"use": "background"}}},
        "these differ: output.background",
    ),
}


@pytest.mark.parametrize("what", RECIPES)
def test_a_recipe_that_is_refused(folder, what):
    change, said = RECIPES[what]
    of_config(lambda about: about["params"]["train"].update(change))(folder)
    refused(folder, said)


@pytest.mark.parametrize("key", ["params", "background", "lookup"])
@pytest.mark.parametrize("value", [None, [], {"kind": "none"}, {"train": []}])
def test_a_config_without_its_parts_is_refused(folder, key, value):
    of_config(lambda about: about.update({key: value}))(folder)
    refused(folder, f"config.json: {key}")


def test_a_folder_of_another_version_is_refused(folder):
    about = read_json(folder / "config.json")
    for version, said in ((2, "an earlier Accord"), (99, "a newer Accord")):
        write_json(folder / "config.json", about | {"format": version})
        refused(folder, f"config.json is of {said}: it has format {version}, this version reads 3")


def changed(folder: Path, name: str, **change: Callable | np.ndarray) -> None:
    with np.load(folder / name) as stored:
        arrays = dict(stored)
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
    "a mass below 0": ("words.npz", {"mass": -np.ones(522)}, "mass: expected finite"),
    "features without end": ("features.npz", {"phi_feature_count": np.array(10**10)}, "at most"),
    "a feature that is none": (
        "features.npz",
        {"phi_indices": lambda a: a + np.int64(9999)},
        "indices",
    ),
    "classes of no share": ("spelling.npz", {"shares": lambda a: a + 1}, "share of numbers"),
}


@pytest.mark.parametrize("what", ARRAYS)
def test_arrays_that_are_refused(folder, what):
    name, change, said = ARRAYS[what]
    changed(folder, name, **change)
    seal(folder)
    refused(folder, str(folder), said)


def test_objects_that_could_be_code_are_not_read(folder):
    changed(folder, "features.npz", names=np.array([{}], object))
    seal(folder)
    with pytest.raises(ValueError, match="objects, which could be code"):
        _ = accord.load(folder).parts.feature_names


def rounded(folder: Path) -> Path:
    """Round the weights to int8, as a compact export does, and return the shard."""
    weights = load_model(folder)
    (folder / "model.safetensors").unlink()
    (shard,) = save_shards(packed(weights, int8=True), folder)
    about = read_json(folder / "config.json")
    about["files"][shard.name] = about["files"].pop("model.safetensors")
    write_json(folder / "config.json", about)
    return shard


def test_weights_without_their_scales_or_shards_are_refused(folder):
    shard = rounded(folder)
    tensors = load_tensors(shard)
    scale = tensors.pop("embedding.weight:scale")
    for wrong in ({}, {"embedding.weight:scale": torch.ones(1, 1)}):
        save_tensors(tensors | wrong, shard)
        seal(folder)
        refused(folder, "expected a scale of each")
    save_tensors(tensors | {"embedding.weight:scale": scale * math.nan}, shard)
    seal(folder)
    refused(folder, "embedding.weight", "expected finite numbers")
    other = "model-00001-of-00002.safetensors"
    shard.rename(folder / other)
    about = read_json(folder / "config.json")
    about["files"][other] = about["files"].pop(shard.name)
    write_json(folder / "config.json", about)
    refused(folder, "or all shards")


def fill(folder: Path, size: float) -> None:
    tensors = load_tensors(folder / "model.safetensors")
    save_tensors(
        {name: torch.full_like(value, size) for name, value in tensors.items()},
        folder / "model.safetensors",
    )
    seal(folder)


def test_weights_too_large_to_compute_with_give_no_figure(folder):
    """Each of them is a number; what they come to is none."""
    fill(folder, 3e38)
    refused(folder, "is not finite")
    scorer = accord.load(folder)
    for text in (SENTENCE, "Un zyglotron"):
        with pytest.raises(FloatingPointError, match="not finite"):
            scorer.score(text)
    for command in (["explain", "Le chat …"], ["generate"], ["generate", "--beam", "2"]):
        told = invoked(*command, "--run", str(folder))
        assert told.exit_code in (1, 2) and isinstance(told.exception, SystemExit)
        assert not told.stdout


def test_what_is_sound_is_taken(folder):
    seal(folder)
    (folder / "README.md").write_text("Mine.")
    (folder / ".gitattributes").write_text("*.safetensors lfs")
    assert accord.load(folder).score(SENTENCE)
