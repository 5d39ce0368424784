"""Damaged files in a model's folder whose hashes say nothing of it: a figure, or an error by kind.

What a stranger writes into a folder has the right hashes; it must not end in a traceback, nor in a
figure that is no number.
"""

import math
import shutil
from pathlib import Path

import pytest
from fuzz_cases import CASES, damaged, fuzz

import accord
from accord.pipeline.ask.explain import Explainer
from accord.pipeline.base.artefact import hash_of_file, read_json, write_json

TOLD = (ValueError, OSError, LookupError, FloatingPointError)  # told in a line
FILES = ("words.npz", "analyses.npz", "features.npz", "spelling.npz", "model.safetensors")
SENTENCE = "Le zyglotron dort."


@pytest.fixture(scope="module")
def exported(tiny_run, tmp_path_factory) -> Path:
    return accord.export(tiny_run.folder, "ll-rnn", tmp_path_factory.mktemp("folders") / "whole")


@pytest.mark.parametrize("name", FILES)
@CASES
def test_damaged_folders(cases, name, exported, tmp_path):
    folder = shutil.copytree(exported, tmp_path / "model")
    about = read_json(folder / "config.json")
    told = 0

    def check(data: bytes) -> None:
        nonlocal told
        (folder / name).write_bytes(data)
        about["files"][name] = hash_of_file(folder / name)
        write_json(folder / "config.json", about)
        try:
            scorer = accord.load(folder)
            words = scorer.score(SENTENCE)
            place = Explainer(scorer).next_word("Le chat")
        except TOLD:
            told += 1
        else:
            assert all(math.isfinite(word.log_p) for word in (*words, *place.likeliest))

    fuzz(cases // 5, damaged([(exported / name).read_bytes()]), check)
    assert told, "most damage is seen"
