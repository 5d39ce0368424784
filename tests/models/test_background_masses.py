"""What every background answers: the masses of words, which those of the signatures are made of."""

import numpy as np
import pytest
import torch
from log_linear_cases import random_features
from ngram_cases import WORDS, random_sentences, rising_prior

from accord.models.background import Background, NGramBackground, Unigram, kneser_ney
from accord.models.inference.torch_model import FrozenModelBackground
from accord.models.model import LanguageModel
from accord.models.phi import Features
from accord.models.recipe import Recipe

FEATURES = random_features(WORDS, width=3, real=False)
TEXT, OTHER = random_sentences(count=60), random_sentences(seed=5, count=20, words=WORDS)


def unigram(features: Features) -> Background:
    return Unigram(features, np.arange(WORDS))  # the first word has no mass


def ngrams(features: Features) -> Background:
    return NGramBackground.learn(features, [TEXT], 3, kneser_ney, rising_prior, folds=2)


def network(features: Features) -> Background:
    torch.manual_seed(3)
    recipe = Recipe(embedding=8, hidden=8, layers=1, device="cpu")
    return FrozenModelBackground(
        features, LanguageModel(recipe, features, unigram(features)).eval()
    )


MADE = {made.__name__: made for made in (unigram, ngrams, network)}


@pytest.fixture(scope="module", params=MADE)
def background(request) -> Background:
    return MADE[request.param](FEATURES)


@pytest.fixture
def context(background) -> torch.Tensor:
    return torch.from_numpy(background.contexts(OTHER, training=True))


def every_word(rows: int) -> torch.Tensor:
    return torch.arange(WORDS).expand(rows, -1)


def test_words_asked_together_have_the_masses_that_each_has_alone(background, context):
    together = background.log_mass_of(every_word(len(context)), context)
    for place in (0, 7, len(context) - 1):
        alone = [
            background.log_mass_of(torch.tensor([[word]]), context[[place]]).item()
            for word in range(WORDS)
        ]
        assert together[place].tolist() == pytest.approx(alone, abs=1e-6)
    of_all = background.log_mass_of(None, context).expand(len(context), -1)
    assert torch.allclose(of_all.double(), together.double(), atol=1e-5)


def test_the_mass_of_a_signature_is_the_sum_of_its_words(background, context):
    masses = background.log_mass_of(every_word(len(context)), context).exp().double()
    sums = torch.zeros(len(context), FEATURES.signature_count, dtype=torch.float64)
    sums.index_add_(1, torch.from_numpy(FEATURES.signature), masses)
    of_signatures = background.class_terms(context)[0].expand(len(context), -1).exp()
    assert torch.allclose(of_signatures.double(), sums, rtol=1e-5, atol=1e-9)


def test_before_any_word_a_unigram_needs_no_context():
    background = unigram(FEATURES)
    first = torch.from_numpy(background.contexts(OTHER)[:1])
    expected = background.log_mass_of(every_word(1), first)
    assert torch.equal(background.log_mass_of(every_word(1)), expected)
    assert torch.equal(background.log_mass_of(None), expected.squeeze(0))


def test_the_two_terms_add_up_to_the_mass(background, context):
    prior, evidence = background.class_terms(context, split=True)
    whole = background.class_terms(context)[0]
    assert torch.allclose(prior + evidence, whole.to(prior.dtype), atol=1e-5)
