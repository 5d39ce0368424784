"""Where floating point might break the log-linear layer: finite and right, or −inf, never NaN."""

import numpy as np
import pytest
import torch
from log_linear_cases import (
    by_definition,
    dense,
    random_features,
    random_layer,
    random_mass,
    random_states,
    unigram_layer,
)

from accord.models.background import Unigram


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_extreme_weights(dtype):
    features, mass, layer = unigram_layer(dtype=dtype)
    with torch.no_grad():
        layer.weight.copy_(torch.where(layer.weight > 0, 1e4, -1e4))
    h = random_states(20, dtype=dtype).requires_grad_()
    log_prob = layer.log_prob(h)
    exact = by_definition(dense(features), np.log(mass), layer.double().adaptor(h.double()))
    layer.to(dtype)
    assert log_prob.isfinite().all()
    assert torch.allclose(
        log_prob.double(), exact, rtol=1e-5, atol=0.05 if dtype.itemsize < 8 else 0
    )
    loss = layer.loss(h, torch.arange(20))
    gradients = torch.autograd.grad(loss, (h, layer.weight, layer.bias))
    assert loss.isfinite()
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_words_without_mass_have_probability_zero_and_an_infinite_loss():
    features, mass = random_features(), random_mass(60)
    without_mass = np.flatnonzero(features.signature == features.signature[3])
    mass[without_mass] = 0  # a signature of its own words, all of them
    alone = next(
        word
        for word in range(60)
        if (features.signature == features.signature[word]).sum() > 1 and word not in without_mass
    )
    mass[alone] = 0  # and one word in a signature that keeps mass
    layer = random_layer(features, Unigram(features, mass), dtype=torch.float32)
    h = random_states(60, dtype=torch.float32).requires_grad_()
    log_prob = layer.log_prob(h)
    zero = torch.from_numpy(mass == 0)
    assert (log_prob[:, zero] == -torch.inf).all()
    assert log_prob[:, ~zero].isfinite().all()
    assert torch.allclose(log_prob.exp().sum(dim=1), torch.ones(60))
    assert torch.equal(layer.log_prob_of(h, torch.arange(60)).isneginf(), zero)
    for word in (3, alone):
        loss = layer.loss(h[:1], torch.tensor([word]))
        assert loss == torch.inf
        gradients = torch.autograd.grad(loss, (h, layer.weight, layer.bias))
        assert not any(gradient.isnan().any() for gradient in gradients)
    finite = layer.loss(h[~zero], torch.arange(60)[~zero])
    assert all(g.isfinite().all() for g in torch.autograd.grad(finite, (layer.weight, layer.bias)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_background_of_1e_300(dtype):
    features = random_features()
    tiny = np.full(60, 1e-300)
    h = random_states(5, dtype=dtype)
    log_prob = random_layer(features, Unigram(features, tiny), dtype=dtype).log_prob(h)
    even = random_layer(features, Unigram(features, np.ones(60)), dtype=dtype).log_prob(h)
    assert torch.allclose(log_prob, even)


def test_one_word_of_1e_300_among_others():
    features, mass = random_features(), random_mass(60)
    mass[5] = 1e-300
    layer = random_layer(features, Unigram(features, mass), dtype=torch.float32)
    h = random_states(5, dtype=torch.float32)
    exact = by_definition(dense(features), np.log(mass), layer.double().adaptor(h.double()))
    assert torch.allclose(layer.float().log_prob(h).double(), exact, rtol=1e-6, atol=1e-5)


def test_bfloat16_autocast_normalises_in_float32():
    features, mass, layer = unigram_layer(dtype=torch.float32)
    h = random_states(200, dtype=torch.float32)
    exact = by_definition(dense(features), np.log(mass), layer.double().adaptor(h.double()))
    layer.float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        log_prob = layer.log_prob(h)
        loss = layer.loss(h, torch.arange(200) % 60)
    assert log_prob.dtype == loss.dtype == torch.float32
    assert torch.allclose(log_prob.exp().sum(dim=1), torch.ones(200), atol=1e-5)
    assert (log_prob - exact).abs().max() < 0.2  # the scores are bfloat16 products: 8 bits
    assert (log_prob - exact).abs().mean() < 0.02
    loss.backward()
    assert layer.weight.grad.dtype == torch.float32
    assert layer.weight.grad.isfinite().all()
