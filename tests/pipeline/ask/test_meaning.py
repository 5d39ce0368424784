"""Word vectors from a file to a trained model: explained exactly, exported, read or not read."""

import numpy as np
import pandas as pd
import pytest

import accord
from accord import load, run
from accord.pipeline.ask.explain import MEANING, Explainer, split

BEGINNING = "La petite fille mange une …"
SENTENCE = "La petite fille mange une xylophone."


@pytest.fixture(scope="module")
def vectors(tiny_run, tmp_path_factory):
    """A vector for nine in ten of the words of the tiny corpus."""
    types = pd.read_parquet(tiny_run.artefacts["ll-rnn", "analyse"].folder / "types.parquet")
    forms = types["form"].to_numpy(dtype=str)
    generator = np.random.default_rng(1)
    chosen = generator.random(len(forms)) < 0.9
    path = tmp_path_factory.mktemp("vectors") / "mine.npz"
    rows = generator.normal(size=(chosen.sum(), 12)).astype(np.float32)
    np.savez(path, forms=forms[chosen], vectors=rows)
    return path


@pytest.fixture(scope="module")
def runs(vectors, tmp_path_factory):
    """A model that reads and predicts by vectors, one that only predicts, one that only reads."""
    folder = tmp_path_factory.mktemp("runs")
    made = {}
    morphology = ["form", "pos", "gender", "number"]
    sides = {"both": {}, "predicted": {"read": morphology}, "read": {"predict": morphology}}
    for name, side in sides.items():
        changes = {
            "featurise.vectors": f"{{source: {vectors}, dimensions: 6}}",
            "train.epochs": 2,
            "train.vector_dropout": 0.2,
        }
        changes |= {f"featurise.{key}": named for key, named in side.items()}
        chosen = {"models": ["ll-rnn"], "until": "evaluate", "name": name}
        made[name] = run("tiny", set=changes, **chosen, runs=folder)
    return made


@pytest.mark.parametrize("name", ["both", "predicted"])
def test_meaning_is_one_term_of_the_exact_sum(runs, name):
    explainer = Explainer(load(runs[name].folder))
    place = explainer.next_word(BEGINNING, ["pomme", "chat", "xylophone"], 20)
    table = split([*place.queried, *place.likeliest]).fillna(0)
    assert table.loc[MEANING].abs().max() > 0
    assert (table.drop(index="log p").sum() - table.loc["log p"]).abs().max() < 1e-5


def test_what_is_only_read_is_no_term_of_the_sum(runs):
    explainer = Explainer(load(runs["read"].folder))
    assert explainer.scorer.parts.psi.dimensions == 6
    assert explainer.features.phi.dimensions == 0
    place = explainer.next_word(BEGINNING, ["pomme", "chat"], 20)
    table = split([*place.queried, *place.likeliest]).fillna(0)
    assert MEANING not in table.index
    assert (table.drop(index="log p").sum() - table.loc["log p"]).abs().max() < 1e-5


@pytest.mark.parametrize("name", ["both", "predicted", "read"])
def test_a_compact_export_keeps_the_vectors_and_what_is_read(runs, name, tmp_path):
    folder = accord.export(runs[name].folder, "ll-rnn", tmp_path / "small", compact=True)
    small, whole = load(folder), load(runs[name].folder)
    assert (small.parts.psi is None) == (name == "both")
    ours, theirs = ([word.log_p for word in each.score(SENTENCE)] for each in (small, whole))
    assert ours == pytest.approx(theirs, abs=0.02)
    assert bool(Explainer(small).next_word(BEGINNING).sought) == (name != "read")
