"""Calibration: octaves of frequency and shares of a signature, by their equations and fitted.

Temperature and calibration are fitted on validation, and are part of the model.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from log_linear_cases import dense, random_features, random_layer, random_states
from query_cases import scored
from training_cases import RECIPE, WORDS, log_linear, model, sentences

from accord.models.background import NGramBackground, kneser_ney
from accord.models.calibration import AS_PREDICTED, fit_calibration, fit_temperature
from accord.models.common.files import WEIGHTS
from accord.models.common.weights import load_tensors
from accord.models.data import Sentences
from accord.models.inference.torch_model import TorchModel
from accord.models.model import LanguageModel
from accord.models.phi import Features
from accord.models.train import Trainer

STEP = 0.02  # a change of a fitted value, which must make the text less likely
FITTED = log_linear(calibration=True, temperature=True)
TEXT = sentences(90)
TYPES = 60
FEATURES = random_features(TYPES)
IDS = np.minimum(np.random.default_rng(0).geometric(0.06, (50, 8)), TYPES - 1)
COUNTED = Sentences(np.where(np.arange(8) == 7, 0, IDS).ravel(), np.full(50, 8))
MASSES = np.random.default_rng(1).gamma(0.3, size=TYPES) + 1e-6


def background() -> NGramBackground:
    return NGramBackground.learn(FEATURES, [COUNTED], 3, kneser_ney, lambda counts: MASSES, folds=0)


def calibrated(theta=1.0, share=0.3):
    """Return a layer that differs from an uncalibrated one by θ and μ."""
    fitted = {"temperature": True, "calibration": True}
    layer = random_layer(FEATURES, background(), background_gate=True, **fitted)
    with torch.no_grad():
        layer.inverse_temperature.fill_(0.8)
        layer.calibration.of_octaves.mul_(theta)
        layer.calibration.context_share.fill_(share)
    return layer


def contexts() -> torch.Tensor:
    return torch.from_numpy(background().contexts(COUNTED)[:40])


def by_definition(layer, h, context) -> torch.Tensor:
    """Return log p of every word, by the two equations: (N × V)."""
    signature = torch.from_numpy(FEATURES.signature)
    b = layer.background.log_mass_of(None, context).double().exp()
    unigram_mass = torch.from_numpy(MASSES / MASSES.sum())
    sums, prior = (
        torch.zeros(len(mass), FEATURES.signature_count, dtype=torch.float64).index_add_(
            1, signature, mass
        )
        for mass in (b, unigram_mass.expand(len(b), -1))
    )
    words = torch.from_numpy(np.bincount(FEATURES.signature))
    octave = (-(prior / words).log2()).floor().long()
    unigram = layer.background.class_terms(context, split=True)[0].double()
    trusted = unigram + layer.background_gate(h) * (sums.log() - unigram)
    weights = torch.nn.functional.linear(h, layer.weight, layer.bias)
    scores = trusted[:, signature] + weights @ torch.from_numpy(dense(FEATURES)).T
    scores = scores + layer.calibration.of_octaves[octave][:, signature]
    of_signature = torch.full_like(sums, -torch.inf)
    of_signature[:, signature] = scores * layer.inverse_temperature
    mu = layer.calibration.context_share
    share = mu * b / sums[:, signature] + (1 - mu) * unigram_mass / prior[:, signature]
    return of_signature.log_softmax(dim=1)[:, signature] + share.log()


def test_it_is_what_its_equations_say():
    layer, h, context = calibrated(), random_states(40), contexts()
    expected = by_definition(layer, h, context)
    assert torch.allclose(expected.exp().sum(dim=1), torch.ones(40, dtype=torch.float64))
    assert torch.allclose(layer.log_prob(h, context), expected, atol=1e-5)
    words = torch.arange(40).unsqueeze(1)
    assert torch.allclose(
        layer.log_prob_of(h, words, context), expected.gather(1, words), atol=1e-5
    )


def test_before_it_is_fitted_it_changes_nothing():
    layer, h, context = calibrated(theta=0.0, share=1.0), random_states(40), contexts()
    as_it_was = calibrated(theta=0.0, share=1.0)
    as_it_was.calibration = None
    assert torch.equal(layer.log_prob(h, context), as_it_was.log_prob(h, context))


def test_what_is_explained_is_what_is_scored():
    layer, h, context = calibrated(), random_states(40), contexts()
    words = torch.arange(40).unsqueeze(1)
    of_features = (layer.adaptor(h) * torch.from_numpy(dense(FEATURES))[:40]).sum(dim=1)
    total = layer.log_background_of(h, words, context).squeeze(1) + of_features
    total = total - layer.score_signatures(h, context).logits.logsumexp(dim=1)
    assert torch.allclose(total, layer.log_prob_of(h, words, context).squeeze(1), atol=1e-5)


def over_bigrams() -> LanguageModel:
    """Return an untrained model in which two words share each signature."""
    torch.manual_seed(5)
    pairs = np.arange(WORDS) // 2
    phi = Features.from_rows(np.arange(WORDS + 1), pairs, np.ones(WORDS), WORDS // 2)
    masses = 2.0 ** -np.arange(WORDS)
    background = NGramBackground.learn(
        phi, [sentences(20)], 2, kneser_ney, lambda counts: masses, folds=0
    )
    recipe = replace(RECIPE, output=FITTED | {"background_gate": True})
    network = LanguageModel(recipe, phi, background).eval()
    with torch.no_grad():
        network.output.inverse_temperature.fill_(0.7)
    return network


def test_no_other_share_makes_the_text_likelier():
    network = over_bigrams()
    unfitted = scored(network, TEXT).mean()
    fit_calibration(network, TEXT)
    fitted = scored(network, TEXT).mean()
    share = network.output.calibration.context_share
    assert fitted > unfitted
    assert 0 < share < 1
    for step in (STEP, -STEP):
        with torch.no_grad():
            share.add_(step)
            assert scored(network, TEXT).mean() < fitted
            share.sub_(step)


def expected_octaves(network: LanguageModel, text: Sentences) -> np.ndarray:
    """Return how many words of each octave the model expects in a text."""
    output = network.output
    p = torch.cat(
        [
            output.score_signatures(read.h, torch.from_numpy(read.context)).log_p.exp().detach()
            for read in TorchModel(network).states(text)
        ]
    )
    return np.bincount(output.calibration.octave.numpy(), p.sum(dim=0).numpy())


def test_octaves_are_as_frequent_as_expected():
    network = over_bigrams()
    unfitted = expected_octaves(network, TEXT)
    fit_calibration(network, TEXT)
    octave = network.output.calibration.octave[network.output.signature].numpy()
    counts = np.bincount(octave[TEXT.ids])
    assert np.count_nonzero(counts) > 2
    # A few words of a text that the network predicts are added to the real one.
    words = len(TEXT.ids)
    expected = (counts + AS_PREDICTED * unfitted / words) * words / (words + AS_PREDICTED)
    assert np.abs(unfitted - expected).max() > 10
    assert expected_octaves(network, TEXT) == pytest.approx(expected, abs=0.02)


def is_normalised(network: LanguageModel) -> bool:
    log_p = network.output.log_prob(torch.randn(20, network.output.weight.shape[1]))
    is_one = torch.allclose(log_p.exp().sum(dim=1), torch.ones(20), atol=1e-5)
    return bool(log_p.isfinite().all()) and is_one


def test_an_octave_without_words_keeps_a_probability():
    network, text = model(output=FITTED), sentences(60)
    fit_calibration(network, text.chosen(np.add.reduceat(text.ids > WORDS // 2, text.starts) == 0))
    assert is_normalised(network)


def test_an_overconfident_model_becomes_less_sure():
    network = model(output=FITTED)
    with torch.no_grad():
        network.output.weight.mul_(8)
    unfitted = scored(network, TEXT).mean()
    fit_temperature(network, TEXT)
    assert network.output.inverse_temperature < 1
    assert scored(network, TEXT).mean() > unfitted
    assert is_normalised(network)


@pytest.mark.parametrize("sharpness", [0.1, 0.31])
def test_a_temperature_that_validates_worse_is_not_taken(sharpness):
    """The best that the search can find, 1/T = 0.5, is worse than that of the checkpoint."""
    network = model(output=FITTED)
    with torch.no_grad():
        network.output.weight.mul_(100)
        network.output.inverse_temperature.fill_(sharpness)
    scores = scored(network, TEXT)
    fit_temperature(network, TEXT)
    assert float(network.output.inverse_temperature) == pytest.approx(sharpness, rel=1e-6)
    assert (scored(network, TEXT) == scores).all()


@pytest.mark.slow
def test_both_are_fitted_after_the_training_and_saved_with_the_weights(tmp_path):
    valid, scores, weights = sentences(30), {}, {}
    for name, recipe in (("plain", RECIPE), ("fitted", replace(RECIPE, output=FITTED))):
        (tmp_path / name).mkdir()
        network = model(output=recipe.output)
        Trainer(network, recipe, tmp_path / name).fit(sentences(80), valid)
        scores[name] = scored(network, valid).mean()
        weights[name] = load_tensors(tmp_path / name / WEIGHTS)
    assert weights["fitted"]["output.calibration.of_octaves"].any()
    assert weights["fitted"]["output.inverse_temperature"] != 1
    for name, plain in weights["plain"].items():
        assert torch.equal(weights["fitted"][name], plain)
    assert scores["fitted"] > scores["plain"]
