"""numpy computes what the torch modules compute, whatever the shape of the network."""

import numpy as np
import pytest
import torch
from log_linear_cases import random_features, random_mass
from ngram_cases import random_sentences

from accord.models.background import Unigram
from accord.models.common.weights import parameters_of
from accord.models.constraints import ConstrainedModel, WordAutomaton, likeliest_weight, primed
from accord.models.data import END, Sentences
from accord.models.inference import numpy_model
from accord.models.inference.generation import Sampling, beam, sample
from accord.models.inference.next_word import NextWord, WordValues
from accord.models.inference.numpy_model import NumpyModel, computes
from accord.models.inference.torch_model import TorchModel
from accord.models.model import LanguageModel
from accord.models.phi import Features
from accord.models.recipe import Recipe

WORDS = 40
TEXT = random_sentences(seed=1, count=200, words=WORDS)
SHAPES = {
    "plain": {"tied": False},
    "tied": {"layers": 2, "hidden": 9},
    "three layers": {"layers": 3, "tied": False},
    "temperature": {"output": {"kind": "log-linear", "temperature": True}},
    "gate": {"output": {"kind": "log-linear", "background_gate": True}},
    "calibration": {
        "output": {"kind": "log-linear", "temperature": True, "calibration": True},
        "tied": False,
    },
    "transformer": {"encoder": {"kind": "transformer", "head_width": 4, "reach": 3}, "layers": 2},
    "untied transformer": {"encoder": "transformer", "tied": False},
    "vectors": {"layers": 2},
    "psi": {"tied": False},
}


@pytest.fixture(params=SHAPES)
def models(request) -> tuple[NumpyModel, TorchModel]:
    """The same weights, computed by both."""
    torch.manual_seed(4)
    draws = np.random.default_rng(3)
    features, psi = random_features(WORDS, width=5, seed=2), None
    if request.param == "vectors":
        vectors = draws.normal(size=(6, 3)).astype(np.float32)
        features = features.with_vectors(vectors, draws.integers(0, 6, WORDS))
    if request.param == "psi":
        psi = random_features(WORDS, width=5, seed=9)
    mass = random_mass(WORDS) + (np.arange(WORDS) == END)
    recipe = Recipe(**{"embedding": 7, "hidden": 8, "layers": 1} | SHAPES[request.param])
    network = LanguageModel(recipe, features, Unigram(features, mass), psi=psi).eval()
    scale = 0.3 if "transformer" in request.param else 0.8  # each layer adds to the one below
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            is_number = name.endswith(("inverse_temperature", "context_share"))
            parameter.copy_(torch.full((), 0.8) if is_number else parameter.normal_(std=scale))
    weights = {name: value.numpy() for name, value in parameters_of(network).items()}
    assert computes(recipe, "unigram")
    return NumpyModel(recipe, weights, features, mass, psi), TorchModel(network)


def read(model) -> tuple:
    (states,) = model.states(Sentences(TEXT.ids[:9], np.array([9])))
    return states


@pytest.mark.parametrize("few", [0, 10_000])
def test_scores_are_those_of_torch(models, few, monkeypatch):
    """Whether signatures are scored feature by feature, or by the rows Φ·W."""
    monkeypatch.setattr(numpy_model, "FEW", few)
    others = (1, 5, 3)
    found, expected = (each.score_alternatives(TEXT, others) for each in models)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.exp(models[0].log_distributions(TEXT)).sum(axis=1) == pytest.approx(1, abs=1e-6)


def test_answers_do_not_depend_on_what_was_asked_before(models):
    few = Sentences(TEXT.ids[:9], np.array([9]))
    before = models[0].score(few)
    models[0].score(TEXT)
    assert "rows" in vars(models[0]) and np.array_equal(models[0].score(few), before)


def test_sentences_that_begin_alike_have_the_same_scores_in_a_tree(models):
    rows = np.array([[1, 2, last, END] for last in range(3, 20)])
    alike = Sentences(rows.ravel(), np.full(len(rows), 4))
    found = models[0].score(alike)
    alone = [models[0].score(Sentences(row, np.array([4]))) for row in rows]
    np.testing.assert_allclose(found, np.concatenate(alone), atol=1e-6)
    np.testing.assert_allclose(found, models[1].score(alike), atol=1e-5)


def test_terms_vectors_and_the_likeliest_words_are_those_of_torch(models):
    words = np.tile([3, 8, END], (9, 1))
    for found, expected in zip(
        *(each.terms(read(each).h, words, read(each).context)[:3] for each in models), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-5)
    for found, expected in zip(*(each.vectors() for each in models), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-5)
    for k in (1, 4, WORDS):
        (found, ours), (expected, theirs) = (
            each.top(read(each).h, k, read(each).context) for each in models
        )
        np.testing.assert_allclose(found, expected, atol=1e-5)
        assert np.array_equal(ours, theirs) or np.unique(expected).size < expected.size


def test_features_are_switched_off_as_in_torch(models):
    found, expected = (each.switched_off([0, 3]).score(TEXT) for each in models)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.abs(found - models[0].score(TEXT)).max() > 1e-2


def test_constraints_and_primed_words_are_those_of_torch(models):
    group = np.arange(WORDS) % 3
    automaton = WordAutomaton(
        group, np.array([[1, 1, -1], [0, 1, 1]]), np.array([[0.0, 1.5, 0]] * 2)
    )
    chosen = np.array([2, 5, 9])
    made = [ConstrainedModel(primed(each, chosen, 0.7), automaton) for each in models]
    found, expected = (each.log_distributions(TEXT) for each in made)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    weights = [likeliest_weight(each, chosen, TEXT) for each in models]
    assert weights[0] == pytest.approx(weights[1], abs=1e-4)
    words = np.tile([4, 5], (9, 1))
    ours, theirs = (primed(each, chosen, 0.7) for each in models)
    found, expected = (
        each.terms(read(each).h, words, read(each).context) for each in (ours, theirs)
    )
    np.testing.assert_allclose(found.background, expected.background, atol=1e-5)
    np.testing.assert_allclose(found.log_z, expected.log_z, atol=1e-5)


def test_what_is_expected_is_that_of_torch(models):
    draws = np.random.default_rng(0)
    values = WordValues(
        np.arange(WORDS), draws.integers(0, 3, WORDS), draws.random(WORDS), WORDS, 3
    )
    spelled = draws.uniform(-5, 0, (len(TEXT.ids), 2))
    found, expected = (NextWord(each, values, range(1, 3)).ask(TEXT, spelled) for each in models)
    np.testing.assert_allclose(found.log_p, expected.log_p, atol=1e-5)
    np.testing.assert_allclose(found.entropy, expected.entropy, atol=1e-5)
    np.testing.assert_allclose(found.means, expected.means, atol=1e-5)
    np.testing.assert_array_equal(found.rank, expected.rank)


def test_beams_are_those_of_torch_and_draws_follow_the_distribution(models):
    ours, theirs = (beam(each, [3], 4, 6) for each in models)
    assert [each.words for each in ours] == [each.words for each in theirs]
    draws = 4000
    drawn = sample(models[0], [3], draws, Sampling(), np.random.default_rng(0), 1)
    counts = np.bincount([each.words[0] for each in drawn], minlength=WORDS)
    (states,) = models[1].states(Sentences(np.array([3, END]), np.array([2])))
    p = np.exp(models[1].log_prob(states.h[1:], states.context[1:])[0])
    assert (np.abs(counts - draws * p) <= 5 * np.sqrt(draws * p) + 1).all()


def test_wrong_weights_are_refused(models):
    recipe = Recipe(embedding=7, hidden=8, layers=1, tied=False)
    features = Features.one_hot(3)
    with pytest.raises(ValueError, match="here: expected the parameters of this network"):
        NumpyModel(recipe, {}, features, np.ones(3), where="here: ")
    shapes = numpy_model.expected_shapes(recipe, 3, 3)
    weights = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
    weights["output.bias"][1] = np.nan
    with pytest.raises(ValueError, match=r"output\.bias: expected finite numbers"):
        NumpyModel(recipe, weights, features, np.ones(3))
