"""The divergence from what teachers say, by signatures as by words."""

import pytest
import torch
from log_linear_cases import random_states, unigram_layer

from accord.models.distillation import Distillation, divergence, likeliest, tempered
from accord.models.model import Seen
from accord.models.recipe import Recipe, Teachers


@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_its_gradient_by_signatures_is_that_of_the_sum_over_words(temperature):
    _, _, layer = unigram_layer()
    _, _, teacher = unigram_layer()
    with torch.no_grad():
        for parameter in teacher.parameters():
            parameter.add_(torch.randn_like(parameter))
    h = random_states(7).requires_grad_()
    of_classes = [
        tempered(each.score_signatures(h).log_p, temperature) for each in (teacher, layer)
    ]
    every = likeliest(of_classes[0].detach().exp(), 10**6)
    (found,) = torch.autograd.grad(divergence(of_classes[1], every), h)
    assert found.abs().max() > 1e-3
    if temperature == 1:
        q, log_p = teacher.log_prob(h).detach().exp(), layer.log_prob(h)
        (expected,) = torch.autograd.grad(-(q * log_p).sum(dim=1).mean(), h)
    else:  # by the definition, signature by signature
        q, log_p = (
            of_classes[0].detach().exp(),
            tempered(layer.score_signatures(h).log_p, temperature),
        )
        (expected,) = torch.autograd.grad(-(q * log_p).sum(dim=1).mean(), h)
    assert torch.allclose(found, expected, atol=1e-10)


def test_it_is_zero_between_equals_and_least_there():
    log_p = torch.randn(5, 20, dtype=torch.float64).log_softmax(dim=1)
    others = torch.randn(5, 20, dtype=torch.float64).log_softmax(dim=1)
    for k in (3, 20):
        taught = likeliest(log_p.exp(), k)
        assert divergence(log_p, taught).item() == pytest.approx(0, abs=1e-10)
        assert divergence(others, taught) > 0.1
    whole = (log_p.exp() * (log_p - others)).sum(dim=1).mean()
    assert divergence(others, likeliest(log_p.exp(), 20)).item() == pytest.approx(whole.item())
    assert divergence(others, likeliest(log_p.exp(), 3)) < whole


def test_the_loss_goes_from_the_text_to_the_teachers():
    _, _, layer = unigram_layer()
    h, words = random_states(6), torch.arange(6)
    taught = likeliest(torch.randn(6, 10).softmax(dim=1).double(), 4)
    loss, classes = layer.loss(h, words), layer.score_signatures(h, None)
    seen = Seen(*[None] * 4, states=h, output=layer, classes=classes, nats=loss, after=())
    nll, half, far = (
        Distillation(Recipe(teachers=Teachers(weight=weight)), list, True)(loss, seen, *taught)
        for weight in (0.0, 0.5, 1.0)
    )
    assert torch.allclose(nll, loss)
    assert torch.allclose(far, divergence(layer.score_signatures(h).log_p, taught))
    assert torch.allclose(half, (nll + far) / 2)
