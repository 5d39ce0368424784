"""A model's folder from a stranger: what it says is borne out by its weights, or it is refused.

Each is a sound folder but for one thing, and has the right hashes: nothing else gives it away.
"""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import received_cases
import torch
from pyarrow import parquet
from received_cases import seal
from typer.testing import CliRunner

import accord
from accord.models.common.weights import load_tensors, save_tensors
from accord.pipeline.base.artefact import read_json, write_json
from accord.pipeline.cli.main import app

SENTENCE = "La petite fille mange une pomme."


@pytest.fixture(scope="module")
def exported(tiny_run, tmp_path_factory) -> Path:
    return accord.export(tiny_run.folder, "ll-rnn", tmp_path_factory.mktemp("exports") / "sound")


@pytest.fixture
def folder(exported, tmp_path) -> Path:
    return shutil.copytree(exported, tmp_path / "stranger")


def refused(folder: Path, *said: str) -> None:
    received_cases.refused(folder, SENTENCE, *said)


def of_config(change: Callable[[dict], None]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        about = read_json(folder / "config.json")
        change(about)
        write_json(folder / "config.json", about)

    return apply


CONFIGS = {
    "a list": lambda folder: (folder / "config.json").write_text("[]"),
    "a number": lambda folder: (folder / "config.json").write_text("7"),
    "too deep": lambda folder: (folder / "config.json").write_text("[" * 100_000),
    "a format that is no number": of_config(lambda about: about.update(format="two")),
    "no format of ours": of_config(lambda about: about.update(model_type="bert")),
    "no hashes": of_config(lambda about: about.update(files={})),
    "hashes in a list": of_config(lambda about: about.update(files=["recipe.json"])),
    "no list of files": of_config(lambda about: about.pop("files")),
    "a hash left out": of_config(lambda about: about["files"].pop("model.safetensors")),
    "a hash that is a list": of_config(lambda about: about["files"].update({"recipe.json": []})),
    "a path": of_config(lambda about: about["files"].update({"../sound/recipe.json": "00"})),
    "a device": of_config(lambda about: about["files"].update({"/dev/zero": "00"})),
}


@pytest.mark.parametrize("what", CONFIGS)
def test_a_config_that_is_refused(folder, what):
    CONFIGS[what](folder)
    refused(folder, "config.json")


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(folder):
    (folder / "b.npy").unlink()
    os.mkfifo(folder / "b.npy")
    refused(folder, "b.npy is missing")


def test_a_file_that_no_hash_vouches_for_is_refused(folder):
    np.save(folder / "classes.npy", np.arange(3))
    refused(folder, "classes.npy is not named in config.json")


RECIPES = {
    "an unknown key": ({"hiden": 3}, "unknown key 'hiden'"),
    "a wrong type": ({"hidden": "many"}, "hidden: expected int, got 'many'"),
    "a truth for a number": ({"layers": True}, "layers: expected int, got True"),
    "no choice": ({"encoder": "lstn"}, "encoder: expected"),
    "a list for a choice": ({"output": ["softmax"]}, "output: expected"),
    "an embedding": ({"embedding": 10**8}, "embedding.weight: expected"),
    "more units than can be counted": ({"embedding": 10**30}, "embedding.weight: expected"),
    "layers": ({"layers": 10**6}, "layers: expected at most"),
    "out of range": ({"layers": 0}, "layers: expected 1 or more"),
    "a word for teachers": ({"teachers": "model"}, "teachers: expected"),
    "a number for a teacher": ({"teachers": {"models": [1]}}, "teachers.models: expected"),
    "not tied": ({"tied": False, "hidden": 10**8}, "expected"),
    "a large reservoir": ({"encoder": "reservoir", "hidden": 10**8}, "expected"),
    "another encoder": ({"encoder": "gru"}, "expected"),
    "a pretrained background": (
        {"phases": {"pretraining": {"use": "background"}}},
        "these differ: output.background",
    ),
    "an output without weights": ({"output": "background"}, "these differ"),
}


@pytest.mark.parametrize("what", RECIPES)
def test_a_recipe_that_is_refused(folder, what):
    change, said = RECIPES[what]
    path = folder / "recipe.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    seal(folder)
    refused(folder, str(folder), said)


def test_rounds_without_end_are_refused(folder):
    path, many = folder / "recipe.json", {"kind": "mogrifier", "rounds": 10**9}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"encoder": many}))
    seal(folder)
    refused(folder, "mogrifier.rounds: expected 0 to 100, got 1,000,000,000")


@pytest.mark.parametrize("text", ["[]", "[" * 100_000, "{", '{"layers": NaN}', "\0"])
def test_a_recipe_that_is_none(folder, text):
    (folder / "recipe.json").write_text(text)
    seal(folder)
    refused(folder, "recipe.json: expected")


def phi(folder: Path, save: Callable = np.savez, **change: np.ndarray) -> None:
    with np.load(folder / "phi.npz") as found:
        arrays = dict(found) | change
    save(folder / "phi.npz", **arrays)
    seal(folder)


def test_a_width_that_no_weight_has(folder):
    with np.load(folder / "phi.npz") as found:
        rows = len(found["indptr"]) - 1
    phi(folder, shape=np.array([rows, 10**10]))
    refused(folder, "phi.npz: feature_count: expected at most", "got 10,000,000,000")


def test_a_phi_that_would_inflate_is_not_read(folder):
    phi(folder, np.savez_compressed, signature=np.zeros(1 << 24, np.int64))
    assert (folder / "phi.npz").stat().st_size < 1 << 20
    refused(folder, "phi.npz cannot be loaded", "is packed")


def test_tables_that_are_refused(folder):
    """One that would inflate, one that lacks a form, one of other words than Φ."""
    path = folder / "types.parquet"
    types = parquet.read_table(path)
    lacking = types.set_column(0, "form", pa.nulls(len(types), pa.string()))
    inflated = pa.table({"form": pa.array(["x"]).take(pa.array(np.zeros(5_000_000, np.int64)))})
    for table, said in (
        (inflated, "types.parquet: expected at most"),
        (lacking, "types.parquet: expected the form of every word"),
        (types[:-1], "phi.npz: expected"),
    ):
        parquet.write_table(table, path)
        seal(folder)
        refused(folder, said)


def test_a_table_of_one_long_text_in_every_row_is_not_written_out(folder):
    path = folder / "types.parquet"
    texts = pa.array(["x" * 20_000]).dictionary_encode()
    rows = pa.DictionaryArray.from_arrays(np.zeros(100_000, np.int32), texts.dictionary)
    parquet.write_table(pa.table({"form": rows}), path)
    assert path.stat().st_size < 10_000
    seal(folder)
    refused(folder, "types.parquet: expected at most", "it claims 2,000,000,000")


def test_a_table_packed_more_tightly_than_ours_is_not_unpacked(folder):
    path = folder / "types.parquet"
    parquet.write_table(parquet.read_table(path), path, compression="zstd")
    seal(folder)
    refused(folder, "types.parquet: expected columns of plain values, packed by Snappy or not")


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
@pytest.mark.parametrize("place", ["a column", "a dictionary"])
def test_an_arrow_file_that_would_inflate_is_not_unpacked(folder, compression, place):
    texts = pa.array(["x" * (1 << 28)])
    column = texts.dictionary_encode() if place == "a dictionary" else texts
    table = pa.table({"hash": pa.array([1], pa.uint64()), "form": column})
    options = pa.ipc.IpcWriteOptions(compression=compression)
    path = folder / "lexicon-9.arrow"
    with pa.ipc.new_file(str(path), table.schema, options=options) as writer:
        writer.write_table(table)
    assert path.stat().st_size < 2 << 20
    about = read_json(folder / "config.json")
    about["files"][path.name] = ""
    write_json(folder / "config.json", about)
    seal(folder)
    refused(folder, "lexicon-9.arrow is packed: expected columns as they are")


SPELLINGS = {
    "classes without end": {"count_classes": 10**9},
    "another key": {"clases": []},
    "no words": {"words": [], "classes": []},
    "an empty word": {"words": [""], "classes": [0]},
    "a class that is none": {"words": ["a"], "classes": [7]},
    "an order that is none": {"order": "high"},
}


@pytest.mark.parametrize("what", SPELLINGS)
def test_a_spelling_model_that_is_refused(folder, what):
    path = folder / "spelling.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | SPELLINGS[what]))
    seal(folder)
    refused(folder, "spelling.json: expected")


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_no_numbers_are_refused_by_name(folder, number):
    tensors = load_tensors(folder / "model.safetensors")
    tensors["embedding.weight"][3, 3] = number
    save_tensors(tensors, folder / "model.safetensors")
    seal(folder)
    refused(folder, "model.safetensors: embedding.weight: expected finite numbers")


def fill(folder: Path, size: float) -> None:
    tensors = load_tensors(folder / "model.safetensors")
    save_tensors(
        {name: torch.full_like(value, size) for name, value in tensors.items()},
        folder / "model.safetensors",
    )
    seal(folder)


def test_a_perplexity_too_large_to_write_is_told_as_such(folder):
    fill(folder, 1e30)
    for options, said in ([], "perplexity over 1e308"), (["--json"], '"perplexity": null'):
        command = ["score", "-", "--run", str(folder), *options]
        told = CliRunner().invoke(app, command, input=SENTENCE)
        assert told.exit_code == 0 and said in told.output
        assert "nan" not in told.output and "inf" not in told.output.lower()


def test_weights_too_large_to_compute_with_give_no_figure(folder):
    """Each of them is a number; what they come to is none."""
    fill(folder, 3e38)
    refused(folder, "is not finite")
    scorer = accord.load(folder)
    for text in (SENTENCE, "Un zyglotron"):
        with pytest.raises(FloatingPointError, match="not finite"):
            scorer.score(text)
    for command in (["explain", "Le chat …"], ["generate"], ["generate", "--beam", "2"]):
        told = CliRunner().invoke(app, [*command, "--run", str(folder)])
        assert told.exit_code in (1, 2) and isinstance(told.exception, SystemExit)
        assert not told.stdout


def test_what_is_sound_is_taken(folder):
    seal(folder)
    (folder / "README.md").write_text("Mine.")
    (folder / ".gitattributes").write_text("*.safetensors lfs")
    assert accord.load(folder).score(SENTENCE)
