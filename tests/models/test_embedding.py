"""ψ: words are read by their features or one-hot; tied weights and dropout of features."""

import numpy as np
import pytest
import torch
from log_linear_cases import dense, random_features

from accord.models.background import Uniform
from accord.models.encoder import FeatureEmbedding
from accord.models.log_linear import LogLinear
from accord.models.model import LanguageModel
from accord.models.phi import Features
from accord.models.recipe import Recipe


def test_a_word_is_the_sum_of_its_features():
    features = random_features()
    embedding = FeatureEmbedding(features, 5).double()
    words = torch.tensor([[3, 59, 0], [7, 7, 1]])
    expected = (torch.from_numpy(dense(features)) @ embedding.weight)[words]
    assert torch.allclose(embedding(words), expected, atol=1e-12)


def test_tied_weights_learn_from_both_sides():
    features = random_features()
    embedding = FeatureEmbedding(features, 5)
    layer = LogLinear(features, Uniform(features), 5, weight=embedding.weight)
    assert layer.weight is embedding.weight
    words = torch.tensor([1, 2, 3])
    layer.loss(embedding(words), words).backward()
    both = layer.weight.grad.clone()
    layer.weight.grad = None
    layer.loss(embedding(words).detach(), words).backward()
    assert not torch.allclose(both, layer.weight.grad)


# Words 0 and 1 have the same features, word 2 has others.
FEATURES = Features(
    np.array([0, 1, 2]), np.array([0, 1]), np.ones(2), np.array([0, 0, 1]), feature_count=2
)


@torch.no_grad()
def read(**choices) -> torch.Tensor:
    recipe = Recipe(embedding=8, hidden=8, layers=1, **choices)
    model = LanguageModel(recipe, FEATURES, Uniform(FEATURES)).eval()
    h, _ = model(torch.tensor([[0, 1, 2]]), model.encoder.initial_state(3))
    assert model.output.log_prob(h[0]).exp().sum(dim=1) == pytest.approx([1, 1, 1])
    return h[0]


def test_words_of_one_signature_are_read_alike_by_features_and_apart_by_words():
    by_features = read()
    assert torch.equal(by_features[0], by_features[1])
    assert not torch.allclose(by_features[0], by_features[2])
    by_words = read(input="words", tied=False)
    assert not torch.allclose(by_words[0], by_words[1])
