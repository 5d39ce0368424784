"""Several seeds for each model: other weights, one row of the table."""

import numpy as np
import pytest
import torch

import accord
from accord.models.common.files import WEIGHTS
from accord.models.common.weights import load_tensors
from accord.pipeline.base.tables import by_seed, mean_and_spread, with_seeds
from accord.pipeline.config.configuration import load_config
from accord.pipeline.model import comparison


def test_each_trained_model_comes_with_every_seed_and_counted_ones_once(tmp_path):
    config = tmp_path / "both.yaml"
    config.write_text(
        "base: tiny\nmodels: {net: {train: {seed: 7}}, counted: {train: {output: background}}}"
    )
    models = with_seeds(load_config(str(config)).models, 3)
    seeds = {name: sections["train"].seed for name, sections in models.items()}
    assert seeds == {"net": 7, "net-seed2": 8, "net-seed3": 9, "counted": 1}
    assert by_seed(models) == {"net": ["net", "net-seed2", "net-seed3"], "counted": ["counted"]}
    with pytest.raises(ValueError, match="seeds: expected 1 or more, got 0"):
        with_seeds(load_config("tiny").models, 0)
    config.write_text("base: tiny\nmodels: {net: {}, net-seed2: {}}")
    for seeds in (1, 2):
        with pytest.raises(ValueError, match="'net-seed2' is called like a seed of 'net'"):
            with_seeds(load_config(str(config)).models, seeds)


@pytest.mark.slow
def test_a_family_is_one_row_and_each_seed_begins_with_weights_of_its_own(tmp_path):
    """The steps are too short to move a weight."""
    changes = {"train.epochs": 1, "train.learning_rate": 1e-12, "train.ema": 0.0}
    run = accord.run("tiny", set=changes, seeds=2, runs=tmp_path)
    scores = comparison.scores(run.folder)
    chosen = scores[(scores["split"] == "test") & (scores["metric"] == "perplexity")]
    of_model = chosen.set_index("model")["value"]
    assert list(of_model.index) == ["rnn", "rnn-seed2", "ll-rnn", "ll-rnn-seed2"]
    rows = (run.folder / "report" / "table.md").read_text().splitlines()[2:]
    assert [row.split("|")[1].strip() for row in rows] == ["rnn", "ll-rnn"]
    pair = of_model["ll-rnn"], of_model["ll-rnn-seed2"]
    expected = f"{np.mean(pair):,.1f} ± {abs(pair[0] - pair[1]) / np.sqrt(2):,.1f}"
    assert rows[1].split("|")[2].strip() == expected == mean_and_spread(pair, 1)
    first, second = (
        load_tensors(run.artefacts[name, "train"].folder / WEIGHTS) for name in ("rnn", "rnn-seed2")
    )
    drawn = first["embedding.weight"]
    assert not torch.allclose(drawn, second["embedding.weight"], atol=1e-3)
    assert torch.allclose(drawn.std(), second["embedding.weight"].std(), rtol=0.1)
