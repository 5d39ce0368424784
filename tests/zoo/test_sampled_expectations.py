"""Sampled expectations of features: scores are exact, and the gradient is right on the mean."""

import numpy as np
import pytest
import torch
from log_linear_cases import (
    DOUBLE,
    random_features,
    random_mass,
    random_states,
    with_random_weights,
)

from accord.models.background import Unigram
from accord.models.log_linear import LogLinear, OutputContext
from accord.models.parts import OUTPUTS

FEATURES, MASS = random_features(), random_mass(60) + 0.01


def layer_of(draw, samples):
    given = OutputContext("", FEATURES, Unigram(FEATURES, MASS), 5, None, None)
    choice = {"kind": "sampled-expectations", "draw": draw, "samples": samples}
    return with_random_weights(OUTPUTS.make(choice, given).to(DOUBLE), scale=0.5)


def exact_of(layer):
    exact = LogLinear(FEATURES, Unigram(FEATURES, MASS), 5).to(DOUBLE)
    exact.load_state_dict(layer.state_dict())
    return exact


def gradients(layer, h, targets):
    layer.zero_grad()
    loss = layer.loss(h, targets)
    loss.backward()
    return loss.detach(), torch.cat([layer.weight.grad, layer.bias.grad[:, None]], dim=1).clone()


def test_over_all_draws_from_the_model_the_gradient_is_that_of_the_exact_expectation(monkeypatch):
    layer, h = layer_of("model", 1), random_states(1)
    p = layer.score_signatures(h).log_p.exp().detach()[0]
    target = torch.tensor([7])
    exact_loss, exact = gradients(exact_of(layer), h, target)
    mean = torch.zeros_like(exact)
    for signature, share in enumerate(p):
        monkeypatch.setattr(layer, "drawn", lambda p, s=signature: torch.full((len(p), 1), s))
        loss, found = gradients(layer, h, target)
        assert torch.allclose(loss, exact_loss)  # the loss itself is not sampled
        mean += share * found
    assert torch.allclose(mean, exact)


@pytest.mark.parametrize("draw", ["model", "background"])
def test_many_draws_come_near_the_exact_loss_and_gradient(draw):
    torch.manual_seed(1)
    layer, h, targets = layer_of(draw, 100_000), random_states(4), torch.tensor([1, 20, 33, 59])
    exact_loss, exact = gradients(exact_of(layer), h, targets)
    loss, found = gradients(layer, h, targets)
    assert loss.item() == pytest.approx(exact_loss.item(), abs=0.02)
    assert np.allclose(found, exact, atol=0.03)


def test_scores_are_exact_where_nothing_is_learned():
    layer, h, targets = layer_of("background", 2).eval(), random_states(3), torch.arange(3)
    exact = exact_of(layer)
    assert torch.equal(layer.log_prob(h), exact.log_prob(h))
    assert torch.equal(layer.loss(h, targets), exact.loss(h, targets))
