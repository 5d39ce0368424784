"""A cache of recent words and nearest states: distributions, and parts of a combination."""

import numpy as np
import pytest
import torch
from log_linear_cases import random_features
from network_cases import trigrams, untrained
from ngram_cases import WORDS, random_sentences

import accord
from accord.models.background import Unigram
from accord.models.calibration import chunks, score
from accord.models.data import END, Sentences
from accord.models.inference.torch_model import TorchModel
from accord.models.model import LanguageModel
from accord.models.recipe import Recipe
from accord.pipeline.model.comparison import find
from accord.pipeline.study import combine
from accord.zoo.memory import Cache, Neighbourhood, Neighbours, of_neighbours

FEATURES = random_features(WORDS, width=3, real=False)
TEXT = random_sentences(seed=5, count=300, words=WORDS)


PARTS = [untrained(1), untrained(2), trigrams()]


def combined(parts, weights) -> np.ndarray:
    """log p of every word of the text by a log-linear combination."""
    return score(parts, [np.asarray(weights)], chunks(TEXT))[0]


class EndsAlone:
    """A model that finds all words impossible."""

    def log_distributions(self, sentences):
        return np.where(np.arange(WORDS) == END, 0.0, np.full((len(sentences.ids), WORDS), -np.inf))


def test_a_part_of_exponent_0_is_left_out():
    """Also where it finds words impossible."""
    parts = [*PARTS, EndsAlone()]
    weightings = [np.array([0.7, 0.0, 0.4, 0.0]), np.array([0.0, 0.3, 0.9, 0.0])]
    for weights, log_p in zip(weightings, score(parts, weightings, chunks(TEXT)), strict=True):
        chosen = np.flatnonzero(weights)
        assert np.allclose(log_p, combined([parts[at] for at in chosen], weights[chosen]))


def test_the_cache_is_what_its_definition_says():
    text = Sentences(np.array([3, 4, END, 3, 3, END, 4, END]), np.array([3, 3, 2]))
    d = 0.5 ** (1 / 2)
    expected = [1 / 9, 0, 0, d**2 / (d + d**2), (d + d**3) / (d + d**2 + d**3), 0]
    expected += [d**3 / (d + d**2 + d**3 + d**4), 0]
    assert np.exp(Cache(9, half_life=2).score(text)) == pytest.approx(expected)


def random_text(seed: int, sentences: int) -> Sentences:
    """Ten words and an end each: after the first words hardly any context comes twice."""
    ids = np.random.default_rng(seed).integers(1, WORDS, size=(sentences, 11)).astype(np.int32)
    ids[:, -1] = END
    return Sentences(ids.flatten(), np.full(sentences, 11))


KNOWN, ASKED = random_text(5, sentences=40), random_text(6, sentences=10)
FEW = random_text(7, sentences=20)  # whose states are all among the nearest


def network_of_far_states() -> LanguageModel:
    torch.manual_seed(1)
    recipe = Recipe(embedding=8, hidden=8, layers=1, device="cpu")
    model = LanguageModel(recipe, FEATURES, Unigram(FEATURES, np.arange(1.0, WORDS + 1)))
    for weight in model.encoder.parameters():
        torch.nn.init.normal_(weight)  # so that states are far from each other
    return model


def states_of(model: LanguageModel, text) -> np.ndarray:
    found = np.zeros((len(text.ids), 8))
    for read in TorchModel(model).states(text):
        found[read.positions] = read.h.detach()
    return found


@pytest.mark.parametrize("temperature", [0.01, 1.0, 100.0])
def test_words_that_followed_share_by_how_near_their_states_are(temperature):
    model = network_of_far_states()
    followed = Neighbours(model, FEW).after(ASKED)
    h, known = states_of(model, ASKED), states_of(model, FEW)
    squared = ((h[:, None] - known[None]) ** 2).sum(axis=2)
    assert followed.distances == pytest.approx(np.sort(squared, axis=1), abs=1e-4)
    shares = np.exp((squared.min(axis=1, keepdims=True) - squared) / temperature)
    of_word = (shares * (FEW.ids == ASKED.ids[:, None])).sum(axis=1)
    found = np.exp(followed.log_p(ASKED.ids, temperature))
    assert found == pytest.approx(of_word / shares.sum(axis=1), rel=1e-3, abs=1e-4)


def test_they_are_a_distribution_in_which_words_that_followed_none_are_impossible():
    followed = Neighbours(network_of_far_states(), KNOWN).after(ASKED)
    of_each = [np.full(len(ASKED.ids), word) for word in range(WORDS)]
    p = np.exp([followed.log_p(words, 0.5) for words in of_each])
    assert p.sum(axis=0) == pytest.approx(np.ones(len(ASKED.ids)))
    followed = Neighbourhood(np.array([[3, 4]]), np.array([[0.0, 1.0]]))
    assert followed.log_p(np.array([5]), 1.0) == -np.inf


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
