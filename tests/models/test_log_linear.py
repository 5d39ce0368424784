"""What must be true of p(x | K) = b(K, x)·exp(a_t·φ(x))/Z, whatever Φ, b and h."""

import numpy as np
import pytest
import torch
from hypothesis import given
from log_linear_cases import (
    Bigram,
    by_definition,
    cases,
    dense,
    random_features,
    random_layer,
    random_mass,
    random_states,
    sparse,
    unigram_layer,
)
from torch.nn.functional import cross_entropy

from accord.models.background import Uniform, Unigram
from accord.models.log_linear import LogLinear
from accord.models.phi import Features

TOLERANCE = {torch.float32: 1e-6, torch.float64: 1e-12}
both_precisions = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


@both_precisions
def test_one_hot_and_uniform_is_the_softmax(dtype):
    features = Features.one_hot(50)
    layer = random_layer(features, Uniform(features), dtype=dtype)
    h = random_states(20, dtype=dtype).requires_grad_()
    targets = torch.arange(20) * 2
    inputs = (h, layer.weight, layer.bias)
    ours = layer.loss(h, targets)
    softmax = cross_entropy(h @ layer.weight.T + layer.bias, targets)
    for mine, theirs in zip(
        (ours, *torch.autograd.grad(ours, inputs)),
        (softmax, *torch.autograd.grad(softmax, inputs)),
        strict=True,
    ):
        assert torch.allclose(mine, theirs, rtol=0, atol=TOLERANCE[dtype])


@given(cases())
def test_by_signature_is_by_word(case):
    phi, mass, seed = case
    features = sparse(phi)
    layer = random_layer(features, Unigram(features, mass), seed=seed)
    h = random_states(3, seed=seed)
    with np.errstate(divide="ignore"):
        expected = by_definition(phi, np.log(mass), layer.adaptor(h))
    assert torch.allclose(layer.log_prob(h), expected, atol=1e-10)
    for word in range(features.vocabulary_size):
        of_word = layer.log_prob_of(h, torch.full((3,), word))
        assert torch.allclose(of_word, expected[:, word], atol=1e-10)


@given(cases())
def test_a_background_that_depends_on_the_context(case):
    phi, mass, seed = case
    features = sparse(phi)
    table = (
        np.random.default_rng(seed).gamma(
            0.5, size=(features.vocabulary_size, features.vocabulary_size)
        )
        + 1e-6
    )
    table[0] = mass
    layer = random_layer(features, Bigram(features, table), seed=seed)
    context = torch.arange(features.vocabulary_size).unsqueeze(1)
    h = random_states(features.vocabulary_size, seed=seed)
    with np.errstate(divide="ignore"):
        expected = by_definition(phi, np.log(table), layer.adaptor(h))
    assert torch.allclose(layer.log_prob(h, context), expected, atol=1e-10)
    words = context.squeeze(1).flip(0)
    of_words = layer.log_prob_of(h, words, context)
    assert torch.allclose(of_words, expected.gather(1, words.unsqueeze(1)).squeeze(1), atol=1e-10)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
def test_probabilities_sum_to_one(dtype, tolerance):
    _, _, layer = unigram_layer(dtype=dtype, scale=3.0)
    with torch.no_grad():
        total = layer.log_prob(random_states(10_000, dtype=dtype)).exp().sum(dim=1)
    assert (total - 1).abs().max() < tolerance


def test_z_is_the_sum_over_all_words_in_each_state():
    features, mass, layer = unigram_layer()
    h = random_states(20)
    scores = layer.adaptor(h) @ torch.from_numpy(dense(features)).T
    log_b = torch.from_numpy(np.log(mass / mass.sum()))
    assert torch.allclose(
        layer.score_signatures(h).logits.logsumexp(dim=1), (log_b + scores).logsumexp(dim=1)
    )


def test_without_weights_p_is_b():
    _, mass, layer = unigram_layer(scale=0.0)
    assert torch.allclose(
        layer.log_prob(random_states(2)).exp(), torch.from_numpy(mass / mass.sum()), atol=1e-14
    )


@pytest.mark.parametrize("scale", [1e-300, 1e-5, 12.0])
def test_the_scale_of_the_background_changes_nothing(scale):
    features, mass = random_features(), random_mass(60) + 1e-3
    h = random_states(4)
    log_prob = [
        random_layer(features, Unigram(features, factor * mass)).log_prob(h)
        for factor in (1.0, scale)
    ]
    assert torch.allclose(*log_prob, rtol=0, atol=1e-12)


def test_the_gradient_on_the_adaptor_is_expected_minus_observed():
    features = random_features()
    # With W the identity and no bias, h is the adaptor a_t itself.
    layer = LogLinear(features, Unigram(features, random_mass(60)), features.feature_count).double()
    with torch.no_grad():
        layer.weight.copy_(torch.eye(features.feature_count))
    a = random_states(7, size=features.feature_count).requires_grad_()
    targets = torch.arange(7) * 8
    (gradient,) = torch.autograd.grad(layer.loss(a, targets), a)
    phi = torch.from_numpy(dense(features))
    p = layer.log_prob(a).exp()
    assert torch.allclose(gradient, (p @ phi - phi[targets]) / 7, atol=1e-14)


def test_gradcheck():
    features = random_features(words=10, width=4)
    layer = random_layer(features, Unigram(features, random_mass(10)), size=3)
    targets = torch.tensor([0, 9, 4])

    def loss(h, weight, bias):
        values = {"weight": weight, "bias": bias}
        return torch.func.functional_call(_Loss(layer), _prefixed(values), (h, targets))

    inputs = (random_states(3, size=3).requires_grad_(), layer.weight, layer.bias)
    assert torch.autograd.gradcheck(loss, inputs)


class _Loss(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, h, targets):
        return self.layer.loss(h, targets)


def _prefixed(values):
    return {f"layer.{name}": value for name, value in values.items()}


def test_training_never_forms_a_batch_by_vocabulary_matrix():
    features = random_features(words=50_000, width=6)
    layer = random_layer(features, Uniform(features))
    largest = 0

    def size(tensor):
        nonlocal largest
        largest = max(largest, tensor.numel())
        return tensor

    h = random_states(32).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(size, lambda tensor: tensor):
        layer.loss(h, torch.arange(32)).backward()
    assert largest <= max(32 * features.signature_count, features.vocabulary_size)


@pytest.mark.parametrize("word", [-1, 60])
def test_a_word_out_of_range_is_refused(word):
    _, _, layer = unigram_layer()
    message = f"words: expected word ids from 0 to under 60, got {word} at index 2"
    with pytest.raises(IndexError, match=message):
        layer.loss(random_states(3), torch.tensor([0, 59, word]))


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
