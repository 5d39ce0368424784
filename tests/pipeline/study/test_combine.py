"""`accord combine`: from the scores of runs, tuned on validation, judged on tests."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

import accord
from accord.models.calibration import likeliest_exponents, stacked_distributions
from accord.pipeline.model.comparison import find
from accord.pipeline.model.network import load_inference
from accord.pipeline.study import combine


def cells(table, part: str) -> dict[str, float]:
    row = table.set_index("part").loc[part]
    return {name: float(value) for name, value in row.items() if value not in ("–", "∞")}


@pytest.mark.parametrize("kind", ["linear", "log-linear"])
def test_together_they_are_better_on_validation_than_any_alone_or_without_one(closed_run, kind):
    models = find(str(closed_run))
    table = combine.linear(models) if kind == "linear" else combine.log_linear(models)
    together = cells(table, "together")
    for model in models:
        alone = cells(table, model.name)
        assert together["perplexity (valid)"] <= alone["perplexity (valid)"] + 0.1
        assert alone["perplexity (test)"] == pytest.approx(
            np.exp(-model.log_p("test").mean()), abs=0.05
        )
        assert "without it (test)" in alone
    if kind == "linear":
        assert sum(cells(table, m.name)["weight"] for m in models) == pytest.approx(1, abs=2e-3)


def test_other_scores_on_the_test_leave_the_weights_as_they_are(closed_run, tmp_path):
    models = find(str(closed_run))
    first = combine.linear(models).set_index("part")
    copies = [
        replace(model, folders={**model.folders, "evaluate": tmp_path / model.name})
        for model in models
    ]
    for model, copy in zip(models, copies, strict=True):
        shutil.copytree(model.scores, copy.scores)
    good, bad = (np.load(tmp_path / name / "test.log_p.npy") for name in ("ll-rnn", "rnn"))
    np.save(tmp_path / "rnn" / "test.log_p.npy", np.maximum(good, bad) / 2)
    np.save(tmp_path / "ll-rnn" / "test.log_p.npy", 2 * np.minimum(good, bad))
    second = combine.linear(copies).set_index("part")
    tuned = ["weight", "perplexity (valid)"]
    assert second[tuned].equals(first[tuned])
    assert (second["perplexity (test)"] != first["perplexity (test)"])[["rnn", "together"]].all()


def test_exponents_are_those_of_validation_and_not_of_the_test(closed_run):
    models = find(str(closed_run))[:2]
    loaded = [load_inference(model.opened) for model in models]

    def likeliest(split: str) -> list[str]:
        text = models[0].sentences(split)
        weights = likeliest_exponents(stacked_distributions(loaded, text), np.array(text.ids))
        return [f"{weight:.3f}" for weight in weights]

    shown = combine.log_linear(models)["weight"].tolist()[:2]
    assert shown == likeliest("valid") != likeliest("test")


def test_the_most_helpful_part_is_chosen_on_validation():
    sure, unsure = np.full(8, -1.0), np.full(8, -5.0)
    models = [{"valid": np.full(8, -3.0), "test": np.full(8, -3.0)}]
    candidates = {
        "good on the test": {"valid": unsure, "test": sure}.get,
        "good on validation": {"valid": sure, "test": unsure}.get,
    }
    assert [*combine.most_helpful(candidates, models)] == ["good on validation"]


def test_a_model_of_units_is_interpolated_by_words_but_not_multiplied(closed_run, tmp_path):
    config = tmp_path / "letters.yaml"
    config.write_text(
        "base: tiny\nanalyse: {protocol: closed}\nmodels: {letters: {encode: {merges: 0}}}\n"
    )
    changes = {"train.epochs": 1}
    letters = accord.run(str(config), set=changes, until="evaluate", runs=tmp_path).folder
    models = [*find(f"{closed_run}/ngrams"), *find(f"{letters}/letters")]
    shown = combine.linear(models).set_index("part")["perplexity (valid)"]
    valid = shown.str.replace(",", "").astype(float)
    assert valid["together"] <= valid.drop("together").min()
    with pytest.raises(ValueError, match="'letters' spells words in subwords"):
        combine.log_linear(models)
