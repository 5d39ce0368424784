"""A small network over the words of `ngram_cases`, whose weights are large enough to matter."""

import torch
from log_linear_cases import random_features
from ngram_cases import WORDS, rising_prior

from accord.models.background import Unigram
from accord.models.model import LanguageModel
from accord.models.recipe import Recipe

FEATURES = random_features(WORDS, width=3, real=False)
RECIPE = Recipe(embedding=8, hidden=8, layers=1, device="cpu")


def network() -> LanguageModel:
    torch.manual_seed(3)
    model = LanguageModel(RECIPE, FEATURES, Unigram(FEATURES, rising_prior(range(WORDS))))
    for parameter in model.parameters():
        parameter.data.normal_(std=0.7)
    return model.eval()
