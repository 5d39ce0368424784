"""A cache of recent words, and mixtures with it."""

import numpy as np
import pytest
import torch
from log_linear_cases import random_features
from ngram_cases import WORDS, random_sentences, rising_prior

from accord.models.background import NGramBackground, Unigram, kneser_ney
from accord.models.data import END, Sentences
from accord.models.inference.torch_model import TorchBackground, TorchModel
from accord.models.mixture import chunks, score
from accord.models.model import LanguageModel
from accord.models.recipe import Recipe
from accord.zoo.memory import Cache

FEATURES = random_features(WORDS, width=3, real=False)
MASS = np.arange(1.0, WORDS + 1)
TEXT = random_sentences(seed=5, count=300, words=WORDS)
RECIPE = Recipe(embedding=8, hidden=8, layers=1, device="cpu")


def network(seed: int) -> TorchModel:
    torch.manual_seed(seed)
    return TorchModel(LanguageModel(RECIPE, FEATURES, Unigram(FEATURES, MASS)))


def ngrams() -> TorchBackground:
    text = random_sentences(count=60)
    return TorchBackground(NGramBackground.learn(FEATURES, [text], 3, kneser_ney, rising_prior, 0))


PARTS = [network(1), network(2), ngrams()]


def combined(parts, weights) -> np.ndarray:
    """log p of every word of the text by a log-linear combination."""
    return score(parts, [np.asarray(weights)], chunks(TEXT))[0]


def test_a_part_of_exponent_0_is_left_out():
    """Also where it finds words impossible, as a cache does those that were not yet read."""
    parts = [*PARTS, Cache(WORDS, half_life=5)]
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
