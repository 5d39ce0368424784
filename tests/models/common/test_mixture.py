"""Combinations of language models: proper distributions, scored from them, the best weights."""

import numpy as np
import pytest
import torch
from network_cases import trigrams, untrained
from ngram_cases import WORDS, random_sentences

from accord.models.calibration import (
    chunks,
    likeliest_exponents,
    likeliest_weights,
    mixed,
    score,
    stacked_distributions,
)

TEXT = random_sentences(seed=5, count=300, words=WORDS)


PARTS = [untrained(1), untrained(2), trigrams()]


@pytest.mark.parametrize("model", PARTS)
def test_every_part_scores_a_text_by_its_distributions(model):
    log_p = torch.from_numpy(model.log_distributions(TEXT))
    assert torch.allclose(log_p.logsumexp(dim=1), torch.zeros(len(log_p)).double(), atol=1e-6)
    of_text = log_p[range(len(log_p)), TEXT.ids.tolist()].numpy()
    assert model.score(TEXT) == pytest.approx(of_text, abs=1e-5)


def test_a_mixture_is_a_distribution():
    parts, weights = PARTS, [0.5, 0.2, 0.3]
    log_p = stacked_distributions(parts, TEXT).double().numpy()
    of_all = mixed(log_p.reshape(len(parts), -1), np.array(weights)).reshape(log_p.shape[1:])
    assert np.exp(of_all).sum(axis=1) == pytest.approx(np.ones(len(of_all)), abs=1e-6)
    of_text = mixed(np.stack([part.score(TEXT) for part in parts]), np.array(weights))
    assert of_text == pytest.approx(of_all[range(len(of_all)), TEXT.ids], abs=1e-5)


def combined(parts, weights) -> np.ndarray:
    """log p of every word of the text by a log-linear combination."""
    return score(parts, [np.asarray(weights)], chunks(TEXT))[0]


def test_a_log_linear_combination_is_what_its_definition_says():
    weights = np.array([0.7, -0.1, 0.8])
    log_p = torch.tensordot(
        torch.from_numpy(weights), stacked_distributions(PARTS, TEXT).double(), dims=1
    ).log_softmax(dim=1)
    expected = log_p[range(len(log_p)), TEXT.ids.tolist()].numpy()
    assert combined(PARTS, weights) == pytest.approx(expected, abs=1e-5)


def test_no_other_weights_make_the_text_likelier():
    log_p = np.stack([part.score(TEXT) for part in PARTS])
    best = mixed(log_p, likeliest_weights(log_p)).mean()
    for weights in np.random.default_rng(0).dirichlet(np.ones(3), 500):
        assert mixed(log_p, weights).mean() <= best + 1e-6
    assert best >= log_p.mean(axis=1).max() - 1e-6


def test_the_weights_of_a_known_mixture_are_found():
    generator = np.random.default_rng(1)
    p = generator.dirichlet(np.full(50, 0.3), 2)
    words = generator.choice(50, 200_000, p=[0.3, 0.7] @ p)
    assert likeliest_weights(np.log(p[:, words])) == pytest.approx([0.3, 0.7], abs=0.02)


def test_a_part_that_finds_words_impossible_and_one_that_is_useless_are_no_trouble():
    log_p = np.log([[0.5, 0.5, 0.5, 0.1], [0.4, 1e-300, 0.9, 0.9], [0.1, 0.1, 0.1, 0.05]])
    log_p[1, 1] = -np.inf
    weights = likeliest_weights(log_p)
    assert np.isfinite(mixed(log_p, weights)).all()
    assert weights.sum() == pytest.approx(1)
    assert weights[2] < 1e-3 < weights[1]


@pytest.mark.slow
def test_no_other_exponents_make_the_text_likelier():
    found = likeliest_exponents(stacked_distributions(PARTS, TEXT), TEXT.ids)
    best = combined(PARTS, found).mean()
    for shift in np.random.default_rng(0).normal(0, 0.05, (20, 3)):
        assert combined(PARTS, found + shift).mean() < best


KIND = np.array([0, 0, 2, 2, 2])
LOG_P = np.log(np.array([[0.2, 0.6, 0.3, 0.1, 0.5], [0.1, 0.3, 0.4, 0.9, 0.1]]))


def test_words_of_each_kind_have_weights_of_their_own():
    options = {"rounds": 40, "enough": -np.inf}
    found = likeliest_weights(LOG_P, KIND, 3, **options)
    assert found[0] == pytest.approx(likeliest_weights(LOG_P[:, :2], **options))
    assert found[1] == pytest.approx(np.array([0.5, 0.5]))
    assert found[2] == pytest.approx(likeliest_weights(LOG_P[:, 2:], **options))
