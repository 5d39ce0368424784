"""`accord compare`: runs and presets in one table, seeds together; which differences are real."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_cases import answered
from run_cases import scores_of

import accord
from accord.pipeline.base.artefact import FinishedRun
from accord.pipeline.model import comparison
from accord.pipeline.model.comparison import compare_models, find, find_all, paired_bootstrap
from accord.pipeline.study.compare import compare, gather, table


@pytest.fixture(scope="module")
def ngrams(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("ngrams")
    config = folder / "ngrams.yaml"
    config.write_text(
        "base: tiny\ntrain: {output: background}\n"
        "models: {unigram: {}, rnn: {background: {kind: ngram, order: 2}}}\n"
    )
    return str(config)


def test_runs_and_configurations_meet_in_one_table(tiny_run, ngrams, tmp_path):
    folders = ["--runs", str(tmp_path / "runs"), "--to", str(tmp_path / "to")]
    command = ["compare", str(tiny_run.folder), ngrams, "--seeds", "2", *folders]
    answered(*command)
    shown = pd.read_csv(tmp_path / "to" / "table.csv")
    assert list(shown["model"]) == ["tiny/rnn", "ll-rnn", "unigram", "ngrams/rnn"]
    assert (shown["protocol"] == "open").all()
    scores = comparison.scores(tiny_run.folder).set_index(["model", "split", "metric"])["value"]
    of_ll_rnn = shown.set_index("model").loc["ll-rnn"]
    for title, split, metric, digits in [
        ("perplexity", "test", "perplexity", 1),
        ("bits/char", "test", "bits per character", 3),
        ("parameters", "train", "parameters", 0),
        ("words/s scored", "test", "words scored per second", 0),
    ]:
        assert str(of_ll_rnn[title]) in f"{scores['ll-rnn', split, metric]:,.{digits}f}"
    files = {path.name for path in (tmp_path / "to").iterdir()}
    assert files == {"table.md", "table.csv", "scores.csv", "time.png", "time.svg"}
    assert "unigram" in (tmp_path / "to" / "time.svg").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def three(tmp_path_factory, slow) -> dict[str, str]:
    """Runs of one model with one seed and with three, and with one of another length."""
    folder = tmp_path_factory.mktemp("three")
    folders = {}
    for name, epochs, seeds in (("one", 1, 1), ("three", 1, 3), ("longer", 2, 1)):
        config = folder / f"{name}.yaml"
        config.write_text("base: tiny\nmodels: {rnn: {}}\n")
        settings = {"set": [f"train.epochs={epochs}"], "seeds": seeds, "runs": folder / "runs"}
        folders[name] = str(accord.run(str(config), until="evaluate", **settings).folder)
    return folders


@pytest.mark.parametrize(
    ("names", "rows"),
    [
        (["longer", "three"], {"longer/rnn": 1, "three/rnn": 3}),
        (["three", "longer"], {"three/rnn": 3, "longer/rnn": 1}),
        (["one", "three"], {"rnn": 3}),
        (["three", "one"], {"rnn": 3}),
        (["one", "longer", "three"], {"one/rnn": 3, "longer/rnn": 1}),
    ],
)
def test_seeds_of_one_model_stay_together_beside_another_of_its_name(three, names, rows):
    shown = table(gather(find_all(three[name] for name in names)))
    has_spread = shown["perplexity"].str.contains(" ± ")
    assert has_spread.tolist() == (shown["seeds"] > 1).tolist()
    assert dict(zip(shown["model"], shown["seeds"], strict=True)) == rows


# The paired bootstrap: its interval covers as it says, and finds only what is there.


def drawn(generator: np.random.Generator, mean: float) -> tuple[np.ndarray, np.ndarray]:
    """Differences and lengths of 300 sentences; longer ones differ more, as in real tests."""
    lengths = generator.geometric(1 / 25, 300)
    noise = generator.normal(0, 0.4, 300) * np.sqrt(lengths)
    return mean * lengths + noise, lengths


@pytest.mark.slow
def test_the_interval_covers_the_truth_nineteen_times_in_twenty():
    generator = np.random.default_rng(5)
    found = [paired_bootstrap(*drawn(generator, 0.0), resamples=400) for _ in range(400)]
    covered = np.mean([not each.is_real for each in found])
    assert 0.92 <= covered <= 0.975  # 0.95, give or take 2.5 standard errors of 400 trials


def test_what_is_added_to_the_difference_is_added_to_its_interval():
    differences, lengths = drawn(np.random.default_rng(1), 0.0)
    before = paired_bootstrap(differences, lengths)
    after = paired_bootstrap(differences + 0.2 * lengths, lengths)
    assert after.is_real and not before.is_real
    assert (after.low, after.high) == pytest.approx((before.low + 0.2, before.high + 0.2))


def test_the_interval_is_as_wide_as_the_theory_of_ratios_says():
    differences, lengths = drawn(np.random.default_rng(2), 0.1)
    found = paired_bootstrap(differences, lengths)
    residual = differences - found.nats * lengths
    error = np.sqrt((residual**2).sum()) / lengths.sum()
    assert found.high - found.low == pytest.approx(2 * 1.96 * error, rel=0.05)
    assert found.nats == pytest.approx(differences.sum() / lengths.sum())
    assert found.low < found.nats < found.high


def test_the_same_seed_gives_the_same_and_identical_models_differ_by_nothing():
    differences, lengths = drawn(np.random.default_rng(3), 0.1)
    assert paired_bootstrap(differences, lengths) == paired_bootstrap(differences, lengths)
    assert paired_bootstrap(differences, lengths, seed=2) != paired_bootstrap(differences, lengths)
    same = paired_bootstrap(np.zeros(300), lengths)
    assert (same.nats, same.low, same.high) == (0, 0, 0)
    assert not same.is_real


def test_a_runs_models_are_compared_on_each_test_as_the_report_scores_them(tiny_run):
    table = compare(find(str(tiny_run.folder)), against="ll-rnn").set_index(["model", "split"])
    assert list(table.index) == [("rnn", "test"), ("ll-rnn", "test")]
    scores = comparison.scores(tiny_run.folder).set_index(["model", "split", "metric"])["value"]
    nats = {model: scores[model, "test", "nats per word"] for model in ("rnn", "ll-rnn")}
    row = table.loc[("rnn", "test")]
    assert float(row["nats/word more"]) == pytest.approx(nats["rnn"] - nats["ll-rnn"], abs=1e-4)
    low, high = map(float, row["95 % of resamples"].split(" to "))
    assert low < float(row["nats/word more"]) < high
    assert (row["real"] == "yes") == (low > 0 or high < 0)
    assert table.loc[("ll-rnn", "test"), "real"] == "–"
    for model in nats:
        perplexity = scores[model, "test", "perplexity"]
        assert table.loc[(model, "test"), "perplexity"] == f"{perplexity:,.1f}"
    assert compare(find(str(tiny_run.folder)))["real"].iloc[0] == "–", (
        "the first model is the default"
    )


def test_seeds_of_a_model_are_one_by_their_mean_loss(three):
    models = compare(find_all([three["three"]])).set_index("model")
    assert list(models.index) == ["rnn"]
    scores = scores_of(Path(three["three"])).set_index(["model", "split", "metric"])["value"]
    seeds = ("rnn", "rnn-seed2", "rnn-seed3")
    nats = [scores[model, "test", "nats per word"] for model in seeds]
    assert models.loc["rnn", "perplexity"] == f"{np.exp(np.mean(nats)):,.1f}"


@pytest.mark.slow
def test_models_that_scored_other_words_are_not_compared(tmp_path):
    config = tmp_path / "texts.yaml"
    config.write_text("base: tiny\nmodels: {one: {}, two: {corpus: {seed: 2}}}")
    run = accord.run(str(config), set={"train.epochs": 1}, runs=tmp_path)
    folders = FinishedRun.read(run.folder)
    of_stages = folders.of_stage("evaluate"), folders.of_stage("encode")
    assert [each.model for each in compare_models(*of_stages, ["test"])] == ["one"]
    assert "Is it chance?" not in (run.folder / "report" / "index.html").read_text("utf-8")
    with pytest.raises(ValueError, match=r"/two and .*/one did not score the same words of test"):
        compare(find(str(run.folder)))
