"""ψ: words are read by their features, or one-hot where the recipe says so."""

import numpy as np
import pytest
import torch

from accord.models.background import Uniform
from accord.models.model import LanguageModel
from accord.models.phi import Features
from accord.models.recipe import Recipe

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


def test_words_cannot_be_tied_to_features():
    with pytest.raises(ValueError, match="expected tied: false"):
        read(input="words", tied=True)


def test_letters_are_no_features():
    letters = np.array([[1, 2], [1, 3], [3, 2]])
    with pytest.raises(ValueError, match="psi: expected features of words, got their letters"):
        LanguageModel(Recipe(), FEATURES, Uniform(FEATURES), psi=letters)
