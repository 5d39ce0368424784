"""Other ways to learn, each against its equation: ALAP, Kalman filter, boosting, dynamic."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from network_cases import network
from ngram_cases import random_sentences
from query_cases import scored
from torch import nn
from training_cases import RECIPE, WORDS, model, sentences

from accord.models.background import Unigram
from accord.models.common.weights import parameters_of
from accord.models.data import Sentences
from accord.models.model import LanguageModel
from accord.models.phi import Features
from accord.zoo.learning import CascadeUnits, KalmanFilter, alap, boost, cascade, correlation
from accord.zoo.memory import Dynamic

TEXT = sentences()


def test_every_weight_has_a_rate_that_follows_the_sign_of_its_gradient():
    weight = nn.Parameter(torch.zeros(2))
    steps = alap(nn.ParameterList([weight]), [], 0.1, 0.0, q=0.5, kept=0.9)
    gradients = np.array([[1.0, 1.0], [2.0, -3.0], [1.0, 2.0]])
    w, rate, square, last = np.zeros(2), np.ones(2), gradients[0] ** 2, np.zeros(2)
    for gradient in gradients:
        weight.grad = torch.tensor(gradient, dtype=torch.float32)
        steps.step()
        square = 0.9 * square + 0.1 * gradient**2
        rate = rate * np.maximum(0.5, 1 + 0.5 * gradient * last / square)
        w, last = w - 0.1 * rate * gradient, gradient
        assert weight.detach().numpy() == pytest.approx(w, rel=1e-5)
    assert rate[0] > 1 > rate[1]


def test_the_filter_of_a_linear_output_is_ridge_regression():
    """With one node, no drift and y = w·x, w is (1/P₀ + XᵀX/R)⁻¹·Xᵀy/R after every step."""
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(20, 3)), generator.normal(size=20)
    weight = nn.Parameter(torch.zeros(1, 3, dtype=torch.float64))
    found = KalmanFilter([weight], start=2.0, noise=0.5, drift=0.0)
    found.covariance = [each.double() for each in found.covariance]
    for row, target in zip(x, y, strict=True):
        found.update(
            [torch.tensor(row).unsqueeze(0)], target - float(weight[0].detach() @ torch.tensor(row))
        )
    exact = np.linalg.solve(np.eye(3) / 2.0 + x.T @ x / 0.5, x.T @ y / 0.5)
    assert weight.detach().numpy()[0] == pytest.approx(exact)


def test_a_decoupled_filter_has_one_variance_for_all_nodes_and_a_covariance_for_each():
    weights = [nn.Parameter(torch.zeros(2, 2)), nn.Parameter(torch.zeros(3))]
    found = KalmanFilter(weights, start=1.0, noise=1.0, drift=0.25)
    derivatives = [torch.tensor([[1.0, 2.0], [0.0, 1.0]]), torch.tensor([1.0, 0.0, 2.0])]
    found.update(derivatives, innovation=3.0)
    variance = 1.0 + 6.0 + 5.0  # R + Σ h·P·h
    for weight, h in zip(weights, derivatives, strict=True):
        assert torch.allclose(weight, 3.0 / variance * h)
    first = torch.tensor([1.0, 2.0])
    expected = torch.eye(2) * 1.25 - first.outer(first) / variance
    assert torch.allclose(found.covariance[0][0], expected)
    assert [each.shape for each in found.covariance] == [(2, 2, 2), (3, 1, 1)]


def circles() -> Sentences:
    """Sentences in which each word follows from the last."""
    generator = np.random.default_rng(0)
    ids = 1 + (np.arange(12) + generator.integers(WORDS - 1, size=(100, 1))) % (WORDS - 1)
    ids[:, -1] = 0
    return Sentences(ids.ravel(), np.full(100, 12))


def cascading(**changes) -> LanguageModel:
    recipe = replace(RECIPE, tied=False, weight_dropout=0.0, encoder="cascade", hidden=2, **changes)
    features = Features.one_hot(WORDS)
    torch.manual_seed(1)
    return LanguageModel(recipe, features, Unigram(features, np.ones(WORDS))).eval()


def test_a_unit_of_a_cascade_reads_the_units_before_it_and_itself():
    encoder = CascadeUnits(3, 2, 5, 1)
    inputs, v = torch.randn(6, 4, 3), torch.zeros(4, 2)
    outputs, _ = encoder(inputs, encoder.initial_state(4))
    for step in range(6):
        heard, before = encoder.read(inputs[step]), v
        first = (heard[:, 0] + encoder.back[0] * before[:, 0]).tanh()
        second = heard[:, 1] + encoder.below[1, 0] * first + encoder.back[1] * before[:, 1]
        v = torch.stack([first, second.tanh()], dim=1)
        expected = encoder.out(torch.cat([inputs[step], v], dim=1))
        assert torch.allclose(outputs[step], expected, atol=1e-6)


def test_candidates_are_judged_by_their_correlation_with_the_errors():
    values, errors = torch.randn(50, 3), torch.randn(50, 2)
    found = correlation(values, errors)
    for k in range(3):
        v, e = values[:, k] - values[:, k].mean(), errors - errors.mean(dim=0)
        expected = sum(abs(float((v * e[:, o]).sum())) for o in range(2))
        assert float(found[k]) == pytest.approx(expected, rel=1e-5)


def test_a_cascade_adds_units_that_are_frozen_and_help():
    text, lines = circles(), []
    first, all_units = cascading(seconds=1e-9), cascading()
    cascade(first, text, text, 1, lines.append, steps=15)
    assert len(lines) == 1 and not first.encoder.read.weight.any(), "no time for a unit"
    kept = []

    def say(line: str) -> None:
        lines.append(line)
        kept.append(all_units.encoder.read.weight.detach().clone())

    cascade(all_units, text, text, 1, say, steps=15)
    for number, weight in enumerate(kept[1:]):
        assert torch.equal(weight[: number + 1], kept[-1][: number + 1]), "frozen"
    nats = [float(line.split(": ")[1].split()[0]) for line in lines]
    assert nats[0] == nats[1], "the same steps before the first unit"
    assert min(nats[2:]) < nats[1]
    grown = all_units.encoder
    assert grown.read.weight.any(dim=1).sum() >= 1
    assert not grown.below.triu().any(), "a unit reads those before it alone"


def test_boosting_reads_hard_sentences_more_often():
    class Next:
        recipe, train = RECIPE, TEXT

        def build(self, recipe):
            assert recipe.epochs == 3 and not recipe.phases
            return model().eval()

        def fit(self, network, recipe, text, out):
            self.weak = network

    training = Next()
    text = boost(model(), training, None, power=2.0, epochs=3)
    nats = -np.add.reduceat(scored(training.weak, TEXT), TEXT.starts) / TEXT.lengths
    assert text.weights == pytest.approx(nats**2 / np.average(nats**2, weights=TEXT.lengths))
    assert text.epoch_words == pytest.approx(len(TEXT.ids))


def test_dynamic_evaluation_scores_a_sentence_before_it_learns_from_it():
    text = random_sentences(count=3)
    plain, parts = network(), [text.part(at, at + 1) for at in range(3)]
    first = parameters_of(plain)
    dynamic = Dynamic(network(), rate=0.5, back=0.1)
    found = np.split(dynamic.score(text), np.cumsum(text.lengths)[:-1])
    for part, log_p in zip(parts, found, strict=True):
        assert log_p == pytest.approx(scored(plain, part), abs=1e-5)
        words = torch.from_numpy(part.ids.astype(np.int64))
        read = torch.cat([words.new_zeros(1), words[:-1]]).unsqueeze(1)
        context = torch.from_numpy(plain.contexts(part))
        plain.zero_grad()
        plain.loss(read, words, plain.encoder.initial_state(1), context).nats.backward()
        nn.utils.clip_grad_norm_(plain.parameters(), plain.recipe.max_grad_norm)
        with torch.no_grad():
            for name, weight in plain.named_parameters():
                step = 0 if weight.grad is None else 0.5 * weight.grad
                weight.copy_(weight + 0.1 * (first[name] - weight) - step)
    still = Dynamic(network(), rate=0.0)
    assert still.score(text) == pytest.approx(scored(network(), text), abs=1e-5)
