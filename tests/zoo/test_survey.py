"""Every system of the preset `survey` is prepared, trained and measured, on a small text."""

import json
from pathlib import Path

import numpy as np
import pytest

import accord
from accord.pipeline.base.names import FIGURES
from accord.pipeline.config import configuration
from accord.pipeline.config.configuration import load_config
from accord.pipeline.model.comparison import find
from accord.zoo.conversions import compare_pruned

PRESET = Path(configuration.__file__).parent / "presets" / "survey.yaml"
SMALL = {
    "corpus.limit": 120,
    "train.embedding": 16,
    "train.hidden": 16,
    "train.epochs": 1,
    "train.device": "cpu",
}


@pytest.mark.parametrize("preset", ["ngrams", "peers", "survey"])
def test_a_preset_with_systems_of_the_zoo_is_valid(preset):
    assert load_config(preset).name == preset


@pytest.fixture(scope="module")
def survey(tmp_path_factory) -> Path:
    """The preset over the text of `tiny`."""
    folder = tmp_path_factory.mktemp("survey")
    text = PRESET.read_text(encoding="utf-8").replace("base: closed", "base: tiny")
    (folder / "survey.yaml").write_text(text, encoding="utf-8")
    return folder


def trained(survey: Path, model: str):
    return accord.run(
        str(survey / "survey.yaml"),
        set=SMALL,
        models=(model,),
        until="evaluate",
        runs=survey / "runs",
    )


# Of each kind of part one; the zoo's own tests hold the mathematics of all.
CHOSEN = {"read-letters-cnn", "characters-hierarchical", "tree", "lstm", "self-normalised"}
MODELS = [
    pytest.param(name, marks=pytest.mark.slow if name in CHOSEN else pytest.mark.long)
    for name in load_config("survey").models
]


@pytest.mark.parametrize("model", MODELS)
def test_each_system_learns_and_is_measured(survey, model):
    finished = trained(survey, model)
    figures = json.loads((finished.artefacts[model, "evaluate"].folder / FIGURES).read_text())
    assert np.isfinite(figures["test"]["perplexity"])
    assert figures["train"]["parameters"] > 0
    assert ("log Z, root mean square" in figures["test"]) == (model == "self-normalised")


@pytest.mark.slow
@pytest.mark.parametrize("model", ["read-letters-cnn", "characters-hierarchical", "tree"])
def test_what_is_given_away_answers_as_it_did(survey, model, tmp_path):
    finished = trained(survey, model)
    accord.export(finished.folder, model, tmp_path / model)
    here, there = accord.load(finished.folder, model), accord.load(tmp_path / model)
    assert here.score("la petite fille dort.") == there.score("la petite fille dort.")


@pytest.mark.slow
def test_a_network_is_pruned_further_and_further(survey):
    finished = trained(survey, "lstm")
    table = compare_pruned(*find(str(finished.folder / "lstm")), [0.5, 0.9])
    assert table["zeros"].tolist() == ["0%", "50%", "90%"]
    left = [int(count.replace(",", "")) for count in table["weights left"]]
    assert left[0] > 1.8 * left[1] > 4 * left[2]
    measured = json.loads((finished.artefacts["lstm", "evaluate"].folder / FIGURES).read_text())
    assert float(table["test"][0]) == pytest.approx(measured["test"]["perplexity"], abs=0.1)
