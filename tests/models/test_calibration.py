"""A calibrated layer: octaves of frequency, and shares by more than the context."""

import numpy as np
import torch
from log_linear_cases import dense, random_features, random_layer, random_states

from accord.models.background import NGramBackground, kneser_ney
from accord.models.data import Sentences

WORDS = 60
FEATURES = random_features(WORDS)
IDS = np.minimum(np.random.default_rng(0).geometric(0.06, (50, 8)), WORDS - 1)
TEXT = Sentences(np.where(np.arange(8) == 7, 0, IDS).ravel(), np.full(50, 8))
MASSES = np.random.default_rng(1).gamma(0.3, size=WORDS) + 1e-6


def background() -> NGramBackground:
    return NGramBackground.learn(FEATURES, [TEXT], 3, kneser_ney, lambda counts: MASSES, folds=0)


def calibrated(theta=1.0, share=0.3):
    """A layer that differs from an uncalibrated one in as much as is said."""
    fitted = {"temperature": True, "calibration": True}
    layer = random_layer(FEATURES, background(), background_gate=True, **fitted)
    with torch.no_grad():
        layer.inverse_temperature.fill_(0.8)
        layer.calibration.of_octaves.mul_(theta)
        layer.calibration.context_share.fill_(share)
    return layer


def contexts() -> torch.Tensor:
    return torch.from_numpy(background().contexts(TEXT)[:40])


def by_definition(layer, h, context) -> torch.Tensor:
    """log p of every word, by the two equations: (N × V)."""
    signature = torch.from_numpy(FEATURES.signature)
    b = layer.background.log_mass_of(None, context).double().exp()
    before = torch.from_numpy(MASSES / MASSES.sum())
    sums, prior = (
        torch.zeros(len(each), FEATURES.signature_count, dtype=torch.float64).index_add_(
            1, signature, each
        )
        for each in (b, before.expand(len(b), -1))
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
    share = mu * b / sums[:, signature] + (1 - mu) * before / prior[:, signature]
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
