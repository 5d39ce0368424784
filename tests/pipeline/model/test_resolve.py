"""What the name of a trained model can be, and what is said of a name that is none."""

import pytest

import accord
from accord.pipeline.base.names import MODEL
from accord.pipeline.model.find import BUNDLED_FOLDER, find, is_hub_id, one

SENTENCE = "Le chat dort."


def test_a_run_is_all_of_its_models_or_the_last_one(tiny_run):
    assert [model.name for model in find(tiny_run.folder)] == ["rnn", "ll-rnn"]
    last = one(tiny_run.folder)
    assert last == one(tiny_run.folder, "ll-rnn") == one(tiny_run.folder / "ll-rnn")
    assert (last.name, last.kind, last.place) == ("ll-rnn", "run", tiny_run.folder)
    assert last.folders["train"] == tiny_run.artefacts["ll-rnn", "train"].folder
    assert last.scores == tiny_run.artefacts["ll-rnn", "evaluate"].folder
    assert last.weights.is_file() and last.protocol == "open"


def test_the_bundled_model_is_one_folder_for_all_stages():
    (found,) = find(None)
    assert found == one("french") and found.kind == "bundled"
    assert found.folders["encode"] == found.folders["train"] == BUNDLED_FOLDER
    assert (found.protocol, found.scores) == ("open", None)


def test_an_exported_model_and_a_file_of_ngrams_are_one_model_each(tiny_run, tmp_path):
    folder = accord.export(tiny_run.folder, "ll-rnn", tmp_path / "mine")
    found = one(folder)
    assert (found.name, found.kind, found.weights) == ("mine", "exported", folder / MODEL)
    assert found.protocol == "open"
    (file,) = find(tmp_path / "mine.arpa.gz")
    assert (file.kind, file.weights) == ("arpa", tmp_path / "mine.arpa.gz")


def test_no_run_is_looked_for_on_the_hub(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert is_hub_id("someone/french") and not is_hub_id("runs/french")
    assert not is_hub_id("someone") and not is_hub_id("a/b/c")
    (tmp_path / "someone").mkdir()
    assert not is_hub_id("someone/french")


def test_a_wrong_name_is_told_with_the_nearest(tiny_run, tmp_path):
    expected = "tinny is no trained model: expected french, a run, .*; the nearest is 'tiny'"
    with pytest.raises(FileNotFoundError, match=expected):
        find(tiny_run.folder.with_name("tinny"))
    for wrong in ((tiny_run.folder, "ll-rn"), (tiny_run.folder / "ll-rn",)):
        with pytest.raises(ValueError, match="one of the models rnn, ll-rnn, got ll-rn; the near"):
            one(*wrong)
    with pytest.raises(ValueError, match="french is one model: expected a run that has the model"):
        one("french", "rnn")
    with pytest.raises(ValueError, match="expected the run that has the model rnn, found none"):
        one(model="rnn")
    begun = accord.run("tiny", until="corpus", runs=tmp_path).folder
    for ask in (find, one):
        with pytest.raises(FileNotFoundError, match="expected a trained model, found none"):
            ask(begun)
