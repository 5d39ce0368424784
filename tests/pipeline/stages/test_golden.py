"""The first fifty losses of the tiny preset are those of before, from the text to the last layer.

What is meant to change them writes them anew: `python -m tests.pipeline.stages.test_golden`.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest

import accord

GOLDEN = Path(__file__).parents[2] / "data" / "golden-losses.csv"
STEPS = 50


def losses(run) -> pd.DataFrame:
    """Nats per word of each of the first steps, a column a model."""
    steps = {
        model: pd.read_csv(run.artefacts[model, "train"].folder / "steps.csv")["nats"]
        for model in run.config.models
    }
    return pd.DataFrame(steps)[:STEPS]


def test_the_losses_are_those_of_before(tiny_run):
    expected, found = pd.read_csv(GOLDEN), losses(tiny_run)
    assert found.shape == expected.shape == (STEPS, 2)
    for model in expected:
        # Kernels of other machines round otherwise, and training makes more of it.
        assert found[model].tolist() == pytest.approx(expected[model].tolist(), abs=1e-4)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        made = accord.run("tiny", set={"train.epochs": 3}, runs=folder)
        losses(made).round(6).to_csv(GOLDEN, index=False)
