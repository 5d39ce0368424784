"""Caches and neighbours are parts of a combination."""

from pathlib import Path

import numpy as np
import pytest

import accord
from accord.pipeline.model.comparison import find
from accord.pipeline.study import combine
from accord.zoo.memory import of_neighbours


@pytest.fixture(scope="module")
def closed_run(tmp_path_factory, slow) -> Path:
    """Two networks and n-grams over one closed vocabulary."""
    folder = tmp_path_factory.mktemp("combine")
    config = folder / "peers.yaml"
    config.write_text(
        "base: tiny\nanalyse: {protocol: closed}\ntrain: {epochs: 2}\nmodels:\n"
        "  rnn: {featurise: {templates: [form], forms: null}}\n"
        "  ll-rnn: {}\n"
        "  ngrams: {background: {kind: ngram, order: 3}, train: {output: background}}\n"
    )
    return accord.run(str(config), until="evaluate", runs=folder / "runs").folder


def cells(table, part: str) -> dict[str, float]:
    row = table.set_index("part").loc[part]
    return {name: float(value) for name, value in row.items() if value not in ("–", "∞")}


def test_an_ensemble_weighs_all_alike_and_a_cache_is_one_more_part(closed_run):
    models = find(str(closed_run))
    table = combine.linear(models, uniform=True)
    assert {cells(table, model.name)["weight"] for model in models} == {0.333}
    table = combine.linear(models, cache=True)
    assert sum(part.startswith("cache, half-life ") for part in table["part"]) == 1
    without = combine.linear(models)
    best, before = (cells(each, "together")["perplexity (valid)"] for each in (table, without))
    assert best <= before + 0.1


def test_neighbours_of_a_network_are_one_more_part(closed_run):
    models = find(str(closed_run))
    table = combine.linear(models, neighbours=f"{closed_run}/ll-rnn")
    assert sum(part.startswith("neighbours of ll-rnn, temp") for part in table["part"]) == 1
    without = combine.linear(models)
    best, before = (cells(each, "together")["perplexity (valid)"] for each in (table, without))
    assert best <= before + 0.1


@pytest.mark.slow
def test_words_that_are_only_spelled_have_no_neighbours(tmp_path):
    config = tmp_path / "little.yaml"
    config.write_text(
        "base: tiny\nanalyse: {lexicon: [closed]}\ntrain: {epochs: 1}\nmodels: {one: {}}"
    )
    run = accord.run(str(config), until="evaluate", runs=tmp_path).folder
    model = find(f"{run}/one")[0]
    log_p = next(iter(of_neighbours(model).values()))("test")
    is_spelled = model.distinguished("test").ids >= model.words
    assert is_spelled.any()
    assert np.isinf(log_p[is_spelled]).all()
    assert np.isfinite(log_p[~is_spelled]).any()
