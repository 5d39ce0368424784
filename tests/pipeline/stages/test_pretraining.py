"""A text beside the training text is read first, as start or as background, and is not judged."""

import pandas as pd
import pytest

from pipeline import load, run
from pipeline.evaluation.score_rows import read_scores

SENTENCE = "Pomme une mange fille petite la."  # which nothing else would teach


@pytest.fixture
def settings(tmp_path) -> list[str]:
    (tmp_path / "beside.txt").write_text(f"{SENTENCE}\n" * 2000, encoding="utf-8")
    return [
        f"corpus.beside={tmp_path / 'beside.txt'}",
        "train.epochs=1",
        "train.beside_epochs=1",
        "train.trust=true",
    ]


@pytest.mark.parametrize("use", ["start", "background"])
def test_what_the_text_beside_says_is_learned(tmp_path, settings, use):
    words = {}
    for beside in ("unread", use):
        this = run("tiny", set=[*settings, f"train.beside={beside}"], runs=tmp_path / "runs")
        scores = read_scores(this.artefacts["ll-rnn", "evaluate"].folder)
        assert set(scores["split"]) == {"train", "valid", "test"}
        trained = this.artefacts["ll-rnn", "train"].folder
        assert not (trained / "beside").exists()
        curves = [trained / "beside.csv", trained / "curve.csv"][beside == "unread" :]
        seconds = sum(float(pd.read_csv(curve)["seconds"].sum()) for curve in curves)
        figures = scores.set_index(["split", "metric"])["value"]
        assert figures["train", "seconds"] == pytest.approx(seconds)
        scorer = load(this.folder, "ll-rnn")
        words[beside] = sum(word.log_p for word in scorer.score(SENTENCE))
    assert words[use] > words["unread"]


def test_ngrams_may_be_counted_on_the_text_beside(tmp_path, settings):
    words = []
    for beside in ("false", "true"):
        ngrams = ["train.output=background", "background.kind=ngram", f"background.beside={beside}"]
        this = run("tiny", set=settings + ngrams, runs=tmp_path / "runs")
        words.append(sum(word.log_p for word in load(this.folder, "ll-rnn").score(SENTENCE)))
    assert words[1] > words[0]


@pytest.mark.parametrize(
    "use",
    [["train.beside=start"], ["background.kind=ngram", "background.beside=true"]],
)
def test_without_a_text_beside_there_is_nothing_to_read(tmp_path, use):
    with pytest.raises(ValueError, match=r"beside.* expects a text; set corpus\.beside"):
        run("tiny", set=use, runs=tmp_path)
