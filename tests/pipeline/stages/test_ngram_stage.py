"""n-grams in a run: counted from the training ids, of every history, cross-fitted for training."""

import math

import numpy as np
import pytest
from run_cases import scores_of

import accord
from accord.models.parts import HISTORIES
from accord.pipeline.base.arrow import open_table


@pytest.mark.slow
def test_a_model_over_ngrams_trains_scores_and_is_loaded_again(tmp_path):
    run = accord.run(
        "tiny",
        set={"train.epochs": 2, "background.kind": "ngram", "background.order": 3},
        until="evaluate",
        runs=tmp_path,
    )
    inputs = {stage: run.artefacts["ll-rnn", stage].folder for stage in ("tokenise", "evaluate")}
    stored = np.load(inputs["evaluate"] / "test.log_p.npy")
    text = open_table(inputs["tokenise"] / "test.arrow")["words"].to_pandas()[0]
    words = accord.load(run.folder, "ll-rnn").score(" ".join(text))
    assert [word.log_p for word in words] == pytest.approx(stored[: len(words)], abs=1e-4)


def test_ngrams_alone_are_a_model_of_a_run_that_nothing_is_trained_for(tmp_path):
    config = tmp_path / "ngrams.yaml"
    config.write_text(
        "base: tiny\ntrain: {output: background}\nbackground: {kind: ngram, order: 3}\n"
        "models:\n  kneser-ney: {}\n  bigrams: {background: {order: 2}}"
    )
    run = accord.run(str(config), until="evaluate", runs=tmp_path / "runs")
    figures = scores_of(run.folder).set_index(["model", "split", "metric"])["value"]
    perplexity = {model: figures[model, "test", "perplexity"] for model in run.config.models}
    assert perplexity["kneser-ney"] < perplexity["bigrams"] < math.inf
    listed = figures["kneser-ney", "train", "parameters"]
    assert listed == int(listed) > figures["bigrams", "train", "parameters"]
    words = accord.load(run.folder, "kneser-ney").score("Le chat dort.")
    assert all(math.isfinite(word.log_p) and word.log_p < 0 for word in words)


SENTENCES = ["La petite fille mange une pomme.", "Un zyglotron dort."]


@pytest.fixture(scope="module")
def run(tmp_path_factory, slow):
    folder = tmp_path_factory.mktemp("histories")
    models = "".join(f"  {name}: {{background: {{history: {name}}}}}\n" for name in HISTORIES)
    (folder / "histories.yaml").write_text(
        "base: tiny\n"
        "encode: {classes: 12}\n"
        "background: {kind: ngram, order: 3}\n"
        "train: {output: background}\n"
        f"models:\n{models}"
    )
    return accord.run(str(folder / "histories.yaml"), until="evaluate", runs=folder / "runs")


@pytest.mark.parametrize("history", HISTORIES)
def test_a_model_of_each_history_is_measured_and_exported(run, history, tmp_path):
    table = scores_of(run.folder)
    of_model = table[(table["model"] == history) & (table["metric"] == "perplexity")]
    assert of_model["value"].between(1, 1000).all() and len(of_model)
    accord.export(run.folder, history, tmp_path / "out")
    there, here = accord.load(tmp_path / "out"), accord.load(run.folder, history)
    assert there.score_all(SENTENCES) == here.score_all(SENTENCES)
