"""The n-gram background in a run: counted from the training ids, cross-fitted for training."""

import math

import pytest

import pipeline
from pipeline.api import scores


def test_a_model_over_ngrams_trains_scores_and_is_loaded_again(tmp_path):
    run = pipeline.run(
        "tiny",
        set={"train.epochs": 2, "background.kind": "ngram", "background.order": 3},
        runs=tmp_path,
    )
    figures = scores(run.folder).set_index(["model", "split", "metric"])["value"]
    assert figures["ll-rnn", "test", "perplexity"] > 1
    words = pipeline.load(run.folder, "ll-rnn").score("Le chat dort.")
    assert all(math.isfinite(word.log_p) and word.log_p < 0 for word in words)


def test_another_smoothing_is_refused_by_name(tmp_path):
    with pytest.raises(ValueError, match="expected one of kneser-ney, jelinek-mercer, add-alpha"):
        pipeline.run("tiny", set={"background.smoothing": "kneser"}, runs=tmp_path)
