"""Without gradients: an output that is solved for, and an encoder that is bred."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from query_cases import scored
from training_cases import RECIPE, WORDS

from accord.models.background import Unigram
from accord.models.data import Sentences
from accord.models.inference.torch_model import TorchModel
from accord.models.model import LanguageModel
from accord.models.phi import Features
from accord.models.recipe import Recipe
from accord.zoo.learning import evolve, least_squares, moments, solve

UNTIED = replace(RECIPE, tied=False, weight_dropout=0.0, encoder="elman", hidden=32)
PHI = Features.one_hot(WORDS)


def cycles(count: int, seed: int) -> Sentences:
    """Sentences whose words follow each other in a circle, but for one in ten."""
    generator = np.random.default_rng(seed)
    lengths = np.full(count, 12)
    ids = 1 + (np.arange(12) + generator.integers(11, size=(count, 1))) % 11
    ids = np.where(generator.random(ids.shape) < 0.1, generator.integers(1, 12, ids.shape), ids)
    ids[:, -1] = 0
    return Sentences(ids.ravel().astype(np.int32), lengths)


TRAIN, VALID = cycles(200, seed=0), cycles(40, seed=1)


def untrained(recipe: Recipe = UNTIED) -> LanguageModel:
    torch.manual_seed(5)
    counts = np.bincount(TRAIN.ids, minlength=WORDS)
    return LanguageModel(recipe, PHI, Unigram(PHI, counts / counts.sum())).eval()


def test_the_slopes_are_those_of_ridge_regression_on_the_next_word():
    model = untrained()
    found = moments(model, TRAIN)
    solve(model, found)
    assert found.words == len(TRAIN.ids) == int(found.times.sum())
    one_hot = np.eye(WORDS)[TRAIN.ids]
    h = np.zeros((len(TRAIN.ids), 32))
    with torch.inference_mode():
        for at in TorchModel(model).states(TRAIN):
            h[at.positions] = at.h
    h -= h.mean(axis=0)
    ridge = 1e-3 * h.var(axis=0).mean() * len(h) * np.eye(32)
    slopes = np.linalg.solve(h.T @ h + ridge, h.T @ (one_hot - one_hot.mean(axis=0)))
    share = (one_hot.sum(axis=0) + 5) / len(h)  # by which the exponent's slope is larger
    assert np.allclose(model.output.weight.detach(), (slopes / share).T, atol=1e-2)


@pytest.mark.slow
def test_evolution_finds_a_better_encoder_and_the_same_one_again():
    small = replace(UNTIED, hidden=4, embedding=4)
    drawn, bred, again = untrained(small), untrained(small), untrained(small)
    least_squares(drawn, TRAIN, VALID, 1, print)
    for model in (bred, again):
        evolve(model, TRAIN, VALID, 1, generations=4)
    assert scored(bred, VALID).mean() > scored(drawn, VALID).mean() + 0.02
    assert (scored(bred, VALID) == scored(again, VALID)).all()
