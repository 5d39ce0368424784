"""A model as the background of another: its own probabilities, which training does not change."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from log_linear_cases import random_features
from ngram_cases import WORDS, random_sentences, rising_prior
from query_cases import distributions, scored

from accord.models.background import NGramBackground, Uniform, Unigram, kneser_ney
from accord.models.inference.torch_model import FrozenModelBackground
from accord.models.model import LanguageModel
from accord.models.recipe import Recipe
from accord.models.train import Trainer

FEATURES = random_features(WORDS, width=3, real=False)
TEXT, OTHER = random_sentences(count=60), random_sentences(seed=5, count=20, words=WORDS)
RECIPE = Recipe(embedding=8, hidden=8, layers=1, batch=4, bptt=7, epochs=2, device="cpu")
INNER = {
    "unigram": lambda: Unigram(FEATURES, np.arange(1.0, WORDS + 1)),
    "n-grams": lambda: NGramBackground.learn(FEATURES, [TEXT], 3, kneser_ney, rising_prior, 2),
}


def below(inner: str) -> LanguageModel:
    torch.manual_seed(3)
    model = LanguageModel(RECIPE, FEATURES, INNER[inner]())
    for parameter in model.parameters():
        parameter.data += torch.randn_like(parameter)
    return model.eval()


@pytest.mark.parametrize("inner", INNER)
def test_a_network_without_weights_scores_as_the_model_below(inner):
    model = LanguageModel(RECIPE, FEATURES, FrozenModelBackground(FEATURES, below(inner)))
    for name, parameter in model.named_parameters():
        if "background" not in name:
            parameter.data.zero_()
    assert scored(model, OTHER) == pytest.approx(scored(below(inner), OTHER), abs=1e-5)
    log_p = distributions(model, OTHER).double()
    assert torch.allclose(log_p.logsumexp(dim=1), torch.zeros(len(log_p)).double(), atol=1e-5)


@pytest.mark.slow
def test_training_leaves_the_model_below_as_it_is(tmp_path):
    torch.manual_seed(1)
    model = LanguageModel(RECIPE, FEATURES, FrozenModelBackground(FEATURES, below("unigram")))
    trainer = Trainer(model, RECIPE, tmp_path)
    trainer.fit(TEXT, OTHER)
    assert trainer.curve[-1].train_nats < trainer.curve[0].train_nats
    for own, given in zip(
        model.output.background.model.parameters(), below("unigram").parameters(), strict=True
    ):
        assert torch.equal(own, given)


def test_a_model_over_other_words_is_refused():
    others = random_features(WORDS + 1, width=3, real=False)
    with pytest.raises(ValueError, match=f"same {WORDS + 1} words .* over {WORDS} words"):
        FrozenModelBackground(others, below("unigram"))


def test_a_model_that_is_not_log_linear_is_refused():
    softmax = replace(RECIPE, output="softmax")
    model = LanguageModel(softmax, FEATURES, Uniform(FEATURES))
    with pytest.raises(ValueError, match=r"expected a model with a log-linear output.*got Sign"):
        FrozenModelBackground(FEATURES, model)
