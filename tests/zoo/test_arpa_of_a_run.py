"""n-grams of a run leave it as an ARPA file, and come in as one."""

import math

import pytest
from run_cases import scores_of

import accord
from accord import export
from accord.pipeline.model.comparison import find
from accord.pipeline.model.endings import read_vocabulary
from accord.zoo.ngrams import read_arpa


def test_exported_ngrams_score_the_test_as_the_run_did(tmp_path):
    config = tmp_path / "counted.yaml"
    config.write_text(
        "base: tiny\nanalyse: {protocol: closed}\ntrain: {output: background}\n"
        "background: {kind: ngram, order: 3}\nmodels: {kneser-ney: {}}"
    )
    run = accord.run(str(config), until="evaluate", runs=tmp_path / "runs")
    path = export(run.folder, "kneser-ney", tmp_path / "kneser-ney.arpa.gz")
    scored = find(str(run.folder))[0]
    ngrams = read_arpa(path, read_vocabulary(run.artefacts["kneser-ney", "analyse"].folder).forms)
    assert ngrams.score(scored.sentences("test")) == pytest.approx(scored.log_p("test"), abs=1e-5)
    with pytest.raises(FileExistsError, match="is there already"):
        export(run.folder, "kneser-ney", path)
    with pytest.raises(ValueError, match="made of n-grams already, of order 3: expected no --ord"):
        export(run.folder, "kneser-ney", tmp_path / "again.arpa", samples=10)


@pytest.mark.slow
def test_ngrams_of_a_file_are_a_background_from_outside(tmp_path):
    counted = tmp_path / "counted.yaml"
    counted.write_text(
        "base: tiny\nanalyse: {protocol: closed}\ntrain: {output: background}\n"
        "background: {kind: ngram, order: 3}\nmodels: {kneser-ney: {}}"
    )
    made = accord.run(str(counted), until="evaluate", runs=tmp_path / "runs")
    path = export(made.folder, "kneser-ney", tmp_path / "kneser-ney.arpa")
    over = {"analyse.protocol": "closed", "train.epochs": 1, "background.kind": "arpa"}
    with pytest.raises(ValueError, match=r"background\.kind: expected a file"):
        accord.run("tiny", set=over, runs=tmp_path / "runs")
    arpa = f"{{kind: arpa, file: '{path}'}}"
    over |= {"background.kind": arpa, "train.learning_rate": 1e-9}
    chosen = {"models": ["ll-rnn"], "until": "evaluate"}
    run = accord.run("tiny", set=over, **chosen, runs=tmp_path / "runs")
    # A network that has learned nothing says almost what the file says.
    nats = scores_of(run.folder).set_index(["model", "split", "metric"])["value"]
    expected = scores_of(made.folder).set_index(["model", "split", "metric"])["value"]
    assert nats["ll-rnn", "test", "nats per word"] == pytest.approx(
        expected["kneser-ney", "test", "nats per word"], abs=0.1
    )
    words = accord.load(run.folder, "ll-rnn").score("Le chat dort.")
    assert all(math.isfinite(word.log_p) for word in words)
