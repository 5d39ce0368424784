"""The names of trained models, and errors for other names."""

from dataclasses import replace

import pytest

import accord
from accord.pipeline.model.find import BUNDLED_FOLDER, find, one
from accord.pipeline.model.folder import open_folder


def test_a_run_is_all_of_its_models_or_the_last_one(tiny_run):
    assert [model.name for model in find(tiny_run.folder)] == ["rnn", "ll-rnn"]
    last = one(tiny_run.folder)
    assert last == one(tiny_run.folder, "ll-rnn") == one(tiny_run.folder / "ll-rnn")
    assert (last.name, last.kind, last.place) == ("ll-rnn", "run", tiny_run.folder)
    assert last.folder == tiny_run.artefacts["ll-rnn", "train"].folder
    assert last.scores == tiny_run.artefacts["ll-rnn", "evaluate"].folder
    assert last.protocol == "open"


def test_every_kind_of_folder_is_opened_by_one_function(tiny_run, tmp_path):
    exported = accord.export(tiny_run.folder, "ll-rnn", tmp_path / "mine")
    small = accord.export(tiny_run.folder, "ll-rnn", tmp_path / "small", compact=True)
    names = {"run": tiny_run.folder, "exported": exported, "bundled": None}
    models = {kind: one(name) for kind, name in names.items()}
    assert {kind: model.kind for kind, model in models.items()} == {kind: kind for kind in names}
    assert models["bundled"].folder == BUNDLED_FOLDER
    for folder in (*(model.folder for model in models.values()), small):
        model = open_folder(folder)
        assert model.vocabulary.knows(["le", "chat"]) and model.mass().sum() == pytest.approx(1)
        assert model.readings.of_form("chat")[0].upos == "NOUN"
    assert all(model.protocol == "open" for model in models.values())


def test_the_hub_is_asked_only_for_what_says_so():
    (model,) = find("hf:someone/french")
    assert (model.kind, model.folder) == ("hub", None)
    with pytest.raises(ValueError, match="expected hf:OWNER/NAME"):
        find("hf:someone")
    with pytest.raises(FileNotFoundError, match="typo/french is no trained model: expected"):
        find("typo/french")


def test_a_wrong_name_is_told_with_the_nearest(tiny_run, tmp_path):
    expected = "tinny is no trained model: expected french, a run, .*; the nearest is 'tiny'"
    with pytest.raises(FileNotFoundError, match=expected):
        find(tiny_run.folder.with_name("tinny"))
    for wrong in ((tiny_run.folder, "ll-rn"), (tiny_run.folder / "ll-rn",)):
        with pytest.raises(
            FileNotFoundError, match="one of the models rnn, ll-rnn, got ll-rn; the near"
        ):
            one(*wrong)
    with pytest.raises(ValueError, match="french is one model: expected a run that has the model"):
        one("french", "rnn")
    with pytest.raises(ValueError, match="--model rnn needs --run"):
        one(model="rnn")
    with pytest.raises(FileNotFoundError, match="expected evaluate of ll-rnn, found none"):
        replace(one(tiny_run.folder), folders={}).check("evaluate")
    begun = accord.run("tiny", until="corpus", runs=tmp_path).folder
    for ask in (find, one):
        with pytest.raises(FileNotFoundError, match="expected a trained model, found none"):
            ask(begun)
