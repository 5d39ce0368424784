"""Small models over the words of `ngram_cases`."""

import numpy as np
import torch
from log_linear_cases import random_features
from ngram_cases import WORDS, random_sentences, rising_prior

from accord.models.background import NGramBackground, Unigram, kneser_ney
from accord.models.inference.torch_model import TorchBackground, TorchModel
from accord.models.model import LanguageModel
from accord.models.recipe import Recipe

FEATURES = random_features(WORDS, width=3, real=False)
RECIPE = Recipe(embedding=8, hidden=8, layers=1, device="cpu")


def untrained(seed: int) -> TorchModel:
    torch.manual_seed(seed)
    return TorchModel(LanguageModel(RECIPE, FEATURES, Unigram(FEATURES, np.arange(1.0, WORDS + 1))))


def trigrams() -> TorchBackground:
    text = random_sentences(count=60)
    return TorchBackground(NGramBackground.learn(FEATURES, [text], 3, kneser_ney, rising_prior, 0))


def network() -> LanguageModel:
    """Return a network whose weights are large enough to matter."""
    torch.manual_seed(3)
    model = LanguageModel(RECIPE, FEATURES, Unigram(FEATURES, rising_prior(range(WORDS))))
    for parameter in model.parameters():
        parameter.data.normal_(std=0.7)
    return model.eval()
