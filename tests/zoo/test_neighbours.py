"""Nearest neighbours: a proper distribution over what followed the nearest states of a text."""

import numpy as np
import pytest
import torch
from log_linear_cases import random_features
from ngram_cases import WORDS

from accord.models.background import Unigram
from accord.models.data import END, Sentences
from accord.models.inference.torch_model import TorchModel
from accord.models.model import LanguageModel
from accord.models.recipe import Recipe
from accord.zoo.memory import Neighbourhood, Neighbours

FEATURES = random_features(WORDS, width=3, real=False)


def text(seed: int, sentences: int) -> Sentences:
    """Ten words and an end each: after the first words hardly any context comes twice."""
    ids = np.random.default_rng(seed).integers(1, WORDS, size=(sentences, 11)).astype(np.int32)
    ids[:, -1] = END
    return Sentences(ids.flatten(), np.full(sentences, 11))


KNOWN, ASKED = text(5, sentences=40), text(6, sentences=10)
FEW = text(7, sentences=20)  # whose states are all among the nearest


def network() -> LanguageModel:
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
    model = network()
    followed = Neighbours(model, FEW).after(ASKED)
    h, known = states_of(model, ASKED), states_of(model, FEW)
    squared = ((h[:, None] - known[None]) ** 2).sum(axis=2)
    assert followed.distances == pytest.approx(np.sort(squared, axis=1), abs=1e-4)
    shares = np.exp((squared.min(axis=1, keepdims=True) - squared) / temperature)
    of_word = (shares * (FEW.ids == ASKED.ids[:, None])).sum(axis=1)
    found = np.exp(followed.log_p(ASKED.ids, temperature))
    assert found == pytest.approx(of_word / shares.sum(axis=1), rel=1e-3, abs=1e-4)


def test_they_are_a_distribution_in_which_words_that_followed_none_are_impossible():
    followed = Neighbours(network(), KNOWN).after(ASKED)
    of_each = [np.full(len(ASKED.ids), word) for word in range(WORDS)]
    p = np.exp([followed.log_p(words, 0.5) for words in of_each])
    assert p.sum(axis=0) == pytest.approx(np.ones(len(ASKED.ids)))
    followed = Neighbourhood(np.array([[3, 4]]), np.array([[0.0, 1.0]]))
    assert followed.log_p(np.array([5]), 1.0) == -np.inf
