"""`accord compare`: runs and presets in one table, seeds together, written down."""

import pandas as pd
import pytest
from typer.testing import CliRunner

import accord
from accord.pipeline.cli.main import app
from accord.pipeline.evaluation import comparison
from accord.pipeline.study.compare import find_or_run, gather, table
from accord.pipeline.study.scored_models import find_all


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
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
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


@pytest.mark.slow
def test_seeds_are_one_row_and_what_runs_share_is_taken_once(tmp_path):
    settings = {"set": ["train.epochs=1"], "seeds": 2, "runs": tmp_path}
    runs = find_or_run(["tiny", "tiny"], **settings)
    scores = gather(runs)
    assert len(scores["model"].unique()) == 4
    shown = table(scores)
    assert len(shown) == 2
    assert shown["perplexity"].str.contains(" ± ").all()
    assert (shown["seeds"] == 2).all()


@pytest.fixture(scope="module")
def three(tmp_path_factory, slow) -> dict[str, str]:
    """Runs of one model with one seed and with three, and with one of another length."""
    folder = tmp_path_factory.mktemp("three")
    found = {}
    for name, epochs, seeds in (("one", 1, 1), ("three", 1, 3), ("longer", 2, 1)):
        config = folder / f"{name}.yaml"
        config.write_text("base: tiny\nmodels: {rnn: {}}\n")
        settings = {"set": [f"train.epochs={epochs}"], "seeds": seeds, "runs": folder / "runs"}
        found[name] = str(accord.run(str(config), until="evaluate", **settings).folder)
    return found


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
    assert dict(zip(shown["model"], shown["seeds"], strict=True)) == rows


@pytest.mark.slow
def test_runs_of_one_name_stay_apart(tmp_path):
    settings = {"set": ["train.epochs=1"], "seeds": 1}
    folders = [tmp_path / "old", tmp_path / "new"]
    for number, folder in enumerate(folders):
        changes = ["train.epochs=1", f"train.seed={number}"]
        accord.run("tiny", set=changes, until="evaluate", runs=folder)
    found = find_or_run([str(folder / "tiny") for folder in folders], **settings, runs=tmp_path)
    expected = [f"{folder.name}/tiny/{name}" for folder in folders for name in ("rnn", "ll-rnn")]
    assert list(gather(found)["model"].unique()) == expected


def test_figures_of_different_texts_are_shown_but_not_to_be_compared(tiny_run, tmp_path):
    other = ["--set", "corpus.seed=7", "--set", "train.epochs=1", "--runs", str(tmp_path)]
    done = CliRunner().invoke(app, ["compare", str(tiny_run.folder), "tiny", *other])
    assert done.exit_code == 0, done.output
    said = "not to be compared: tiny/rnn and tiny/rnn did not score the same words of test"
    assert said in done.stderr
    assert done.output.index(said) < done.output.index("| model"), "before the figures"
