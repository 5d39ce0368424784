"""Runs and exported folders of an earlier version are read, or refused with what to do.

Each is made of today's by giving its files the keys that they had before.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from received_cases import seal

import accord
from accord.models.recipe import MOVED
from accord.pipeline.base.artefact import hash_of_file, read_json, write_json

SENTENCES = ["La petite fille mange une pomme.", "Le zyglotron dort.", "Les chats noirs dorment."]
KEYS_OF_NOW = ("phases", "losses", "teachers")
# What keys that are now in a part or a mapping said of a model that had nothing special.
PLAIN = {
    "background_gate": False,
    "temperature": False,
    "calibration": False,
    "expert": "none",
    "pretraining": "none",
    "pretraining_epochs": 4,
    "growth": 1,
    "growth_epochs": 4,
    "condition_dropout": 0.2,
    "teacher": [],
    "distillation": 0.5,
    "distillation_temperature": 1.0,
    "distillation_top": 200,
    "activation_penalty": 0.0,
    "temporal_penalty": 0.0,
    "adaptor_penalty": 0.0,
    "past_decode": 0.0,
    "fraternal": 0.0,
    "momentum": 0.0,
    "rmsprop_alpha": 0.99,
    "lr_decay": 3.0,
    "generations": 20,
}


def before(recipe: dict[str, Any]) -> dict[str, Any]:
    """The same recipe with the keys of before."""
    assert recipe["phases"] == recipe["losses"] == {} and not recipe["teachers"]["models"]
    left = {key: value for key, value in recipe.items() if key not in KEYS_OF_NOW}
    kinds = {key: recipe[key]["kind"] for key in ("output", "schedule")}
    return left | kinds | PLAIN


def change(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def rewrite_recipe(path: Path) -> None:
    path.write_text(json.dumps(before(json.loads(path.read_text()))))


def scores(model: Path, name: str | None = None) -> list[float]:
    scored = accord.load(model, name).score_all(SENTENCES)
    return [word.log_p for words in scored for word in words]


def test_the_keys_of_before_are_all_tried():
    assert PLAIN.keys() == MOVED.keys()


@pytest.fixture(scope="module", params=["full", "compact"])
def exported(tiny_run, tmp_path_factory, request) -> Path:
    folder = tmp_path_factory.mktemp("exports") / request.param
    return accord.export(tiny_run.folder, "ll-rnn", folder, compact=request.param == "compact")


@pytest.fixture
def older(exported, tmp_path) -> Path:
    """An export whose recipe and description have the keys of before."""
    folder = shutil.copytree(exported, tmp_path / "older")
    rewrite_recipe(folder / "recipe.json")
    about = read_json(folder / "config.json")
    about["params"]["train"] = before(about["params"]["train"] | {"teachers": {"models": []}})
    write_json(folder / "config.json", about)
    seal(folder)
    return folder


def test_an_exported_folder_of_before_scores_as_it_did(exported, older):
    assert scores(older) == scores(exported)


def test_a_background_that_does_not_tell_its_history_is_read(exported, older):
    background = json.loads((older / "about.json").read_text())
    del background["history"]
    (older / "about.json").write_text(json.dumps(background))
    seal(older)
    assert scores(older) == scores(exported)


def test_a_training_goes_on_from_an_exported_folder_of_before(older, tmp_path):
    changes = {"train.start": str(older), "train.epochs": 1, "corpus.source": "tiny"}
    run = accord.run("mine", set=changes, until="evaluate", runs=tmp_path / "runs")
    (model,) = run.config.models
    assert scores(run.folder, model)


@pytest.fixture
def older_run(tiny_run, tmp_path) -> Path:
    """A run whose artefacts tell the code that made them, and the keys of before."""
    runs = tmp_path / "runs"
    shutil.copytree(tiny_run.folder.parent, runs)
    for meta in (runs / "artefacts").glob("*/meta.json"):
        about = read_json(meta)
        about["code"] = f"{about.pop('version'):064}"
        if about["stage"] == "train":
            recipe = meta.parent / "recipe.json"
            rewrite_recipe(recipe)
            about["files"]["recipe.json"] = hash_of_file(recipe)
            about["params"] = before(about["params"] | {"teachers": {"models": []}})
        write_json(meta, about)
    manifest = runs / tiny_run.folder.name / "run.json"
    about = read_json(manifest)
    for sections in about["config"].values():
        sections["train"] = before(sections["train"])
    write_json(manifest, about)
    return manifest.parent


def test_a_run_of_before_scores_and_is_exported_as_it_was(tiny_run, older_run, tmp_path):
    expected = scores(tiny_run.folder, "ll-rnn")
    assert scores(older_run, "ll-rnn") == expected
    exported = scores(accord.export(older_run, "ll-rnn", tmp_path / "exported"))
    assert exported == pytest.approx(expected, abs=1e-4)  # by numpy, the run by torch


def test_what_no_version_up_to_this_one_wrote_is_refused_with_what_to_do(older):
    change(older / "recipe.json", quantum=True)
    seal(older)
    with pytest.raises(ValueError, match=r"recipe\.json: unknown key 'quantum'.* [Uu]pdate Accord"):
        accord.load(older)


def test_an_old_key_that_says_what_can_be_no_more_is_refused_by_its_name(older):
    change(older / "recipe.json", output="softmax", expert="copy")
    seal(older)
    with pytest.raises(ValueError, match=r"recipe\.json: expert: expected a log-linear output"):
        accord.load(older)
