"""Damaged files in a model's folder whose hashes say nothing of it: a figure, or an error by kind.

What a stranger writes into a folder has the right hashes; it must not end in a traceback, nor in a
figure that is no number.
"""

import math
import shutil
from pathlib import Path

import pytest
from fuzz_cases import CASES, damaged, fuzz

import pipeline
from pipeline import api
from pipeline.artefacts import fingerprint
from pipeline.artefacts.artefact import read_json, write_json
from pipeline.inference.explain import Explainer

TOLD = (
    ValueError,
    OSError,
    LookupError,
    FloatingPointError,
)  # told in a line
FILES = (
    *("recipe.json", "about.json", "lexicon.json", "spelling.json", "names.json"),
    *("phi.npz", "b.npy", "model.safetensors", "types.parquet"),
)
SENTENCE = "Le zyglotron dort."


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("folders")
    run = pipeline.run("tiny", set={"train.epochs": 1}, runs=folder / "runs")
    return api.export(run.folder, "ll-rnn", folder / "model")


@pytest.mark.parametrize("name", FILES)
@CASES
def test_damaged_folders(cases, name, exported, tmp_path):
    folder = shutil.copytree(exported, tmp_path / "model")
    about = read_json(folder / "config.json")
    told = 0

    def check(data: bytes) -> None:
        nonlocal told
        (folder / name).write_bytes(data)
        about["files"][name] = fingerprint.of_file(folder / name)
        write_json(folder / "config.json", about)
        try:
            scorer = pipeline.load(folder)
            words = scorer.score(SENTENCE)
            place = Explainer(scorer).next_word("Le chat")
        except TOLD:
            told += 1
        else:
            assert all(math.isfinite(word.log_p) for word in (*words, *place.likeliest))

    fuzz(cases // 5, damaged([(exported / name).read_bytes()]), check)
    assert told, "most damage is seen"
