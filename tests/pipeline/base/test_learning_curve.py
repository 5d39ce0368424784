"""A run whose models are trained on more and more text has a learning curve in its report."""

import pandas as pd
import pytest

import accord
from accord.pipeline.base.figures import learning_curve


@pytest.mark.slow
def test_a_run_over_sizes_of_text_draws_its_learning_curve(tmp_path):
    config = tmp_path / "sizes.yaml"
    config.write_text(
        "base: tiny\n"
        "train: {epochs: 1}\n"
        "models:\n"
        "  small-100: {corpus: {limit: 100}}\n"
        "  small-300: {corpus: {limit: 300}}\n"
        "  other: {}\n"
    )
    report = accord.run(str(config), runs=tmp_path / "runs").folder / "report"
    drawn = (report / "learning.svg").read_text(encoding="utf-8")
    assert all(name in drawn for name in ("small", "sentences of training text"))
    assert "other" not in drawn
    assert "by the size of the training text" in (report / "index.html").read_text(encoding="utf-8")


def test_a_run_over_one_text_draws_none(tiny_run):
    assert not (tiny_run.folder / "report" / "learning.svg").exists()
    assert "by the size of" not in (tiny_run.folder / "report" / "index.html").read_text()


def test_sizes_of_text_stand_on_a_logarithmic_axis():
    rows = pd.DataFrame({"kind": "a", "sentences": [100, 1000], "value": [90.0, 60.0]})
    (axes,) = learning_curve(rows, "perplexity").axes
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["100", "1,000"]
