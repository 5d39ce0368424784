"""b(K, x): unigrams, one mass by all methods, and a frozen model as b."""

import numpy as np
import pytest
import torch
from log_linear_cases import random_features, random_mass
from ngram_cases import WORDS, random_sentences, rising_prior
from query_cases import distributions, scored

from accord.models.background import Background, NGramBackground, Unigram, kneser_ney
from accord.models.inference.torch_model import FrozenModelBackground
from accord.models.model import LanguageModel
from accord.models.phi import Features
from accord.models.recipe import Recipe
from accord.models.train import Trainer


def test_class_mass_is_the_sum_over_the_words_of_a_signature():
    features, mass = random_features(), random_mass(60)
    sums = np.bincount(features.signature, mass) / mass.sum()
    assert np.allclose(Unigram(features, mass).class_terms()[0].exp(), sums, rtol=1e-12)


def test_the_smallest_mass_beside_the_largest_is_kept():
    features = random_features()
    mass = np.ones(60)
    mass[7], mass[8] = 5e-324, 1e308
    log_mass = Unigram(features, mass).log_mass_of(torch.tensor([7, 8]))
    assert log_mass.tolist() == pytest.approx([np.log(5e-324) - np.log(1e308), 0.0])


@pytest.mark.parametrize(
    ("mass", "message"),
    [
        ([1.0, np.nan, 1.0], "mass: expected finite numbers ≥ 0, got nan at index 1"),
        ([0.0, 0.0, 0.0], "mass: expected a positive sum, got 3 zeros"),
        ([1.0, 1.0], r"mass: expected 3 numbers, one per word; got shape \(2,\)"),
    ],
)
def test_a_bad_mass_is_refused_by_index(mass, message):
    with pytest.raises(ValueError, match=message):
        Unigram(random_features(words=3), mass)


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


def test_the_two_terms_add_up_to_the_mass(background, context):
    prior, evidence = background.class_terms(context, split=True)
    whole = background.class_terms(context)[0]
    assert torch.allclose(prior + evidence, whole.to(prior.dtype), atol=1e-5)


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
