"""Other ways to learn, each against its equation; growing and pruning do what they say."""

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
from accord.models.inference.torch_model import TorchModel
from accord.models.model import LanguageModel
from accord.models.phi import Features
from accord.models.recipe import Recipe
from accord.zoo.learning import (
    CascadeUnits,
    KalmanFilter,
    alap,
    boost,
    cascade,
    evolve,
    least_squares,
    moments,
    prune,
    solve,
    widen,
)
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


UNTIED = replace(RECIPE, tied=False, weight_dropout=0.0, encoder="elman", hidden=32)
PHI = Features.one_hot(WORDS)


def cycles(count: int, seed: int) -> Sentences:
    """Sentences whose words follow each other in a circle, but for one in ten."""
    generator = np.random.default_rng(seed)
    lengths = np.full(count, 12)
    ids = 1 + (np.arange(12) + generator.integers(11, size=(count, 1))) % 11
    ids = np.where(generator.random(ids.shape) < 0.1, generator.integers(1, 12, ids.shape), ids)
    ids[:, -1] = 0
    return Sentences(ids.ravel().astype(np.int32), lengths)


TRAIN, VALID = cycles(200, seed=0), cycles(40, seed=1)


def untrained(recipe: Recipe = UNTIED) -> LanguageModel:
    torch.manual_seed(5)
    counts = np.bincount(TRAIN.ids, minlength=WORDS)
    return LanguageModel(recipe, PHI, Unigram(PHI, counts / counts.sum())).eval()


def test_the_slopes_are_those_of_ridge_regression_on_the_next_word():
    model = untrained()
    _, _, times, _ = moments(model, TRAIN)
    solve(model, TRAIN)
    assert len(TRAIN.ids) == int(times.sum())
    one_hot = np.eye(WORDS)[TRAIN.ids]
    h = np.zeros((len(TRAIN.ids), 32))
    with torch.inference_mode():
        for at in TorchModel(model).states(TRAIN):
            h[at.positions] = at.h
    h -= h.mean(axis=0)
    ridge = 1e-3 * h.var(axis=0).mean() * len(h) * np.eye(32)
    slopes = np.linalg.solve(h.T @ h + ridge, h.T @ (one_hot - one_hot.mean(axis=0)))
    share = (one_hot.sum(axis=0) + 5) / len(h)  # by which the exponent's slope is larger
    assert np.allclose(model.output.weight.detach(), (slopes / share).T, atol=1e-2)


@pytest.mark.slow
def test_evolution_finds_a_better_encoder_and_the_same_one_again():
    small = replace(UNTIED, hidden=4, embedding=4)
    drawn, bred, again = untrained(small), untrained(small), untrained(small)
    least_squares(drawn, TRAIN, VALID, 1, print)
    for learner in (bred, again):
        evolve(learner, TRAIN, VALID, 1, generations=4)
    assert scored(bred, VALID).mean() > scored(drawn, VALID).mean() + 0.02
    assert (scored(bred, VALID) == scored(again, VALID)).all()


@pytest.mark.parametrize("encoder", ["elman", "gru", "irnn", "lstm"])
@pytest.mark.parametrize("tied", [True, False])
def test_nothing_is_lost_when_a_network_is_widened(encoder, tied):
    shape = {"encoder": encoder, "layers": 3, "tied": tied}
    narrow, wide = model(**shape, hidden=6).eval(), model(**shape, hidden=18).eval()
    for weight in [*narrow.parameters(), *wide.parameters()]:
        weight.data.normal_(std=0.3)  # as if both were trained
    assert scored(wide, TEXT) != pytest.approx(scored(narrow, TEXT), abs=1e-3)
    widen(wide, narrow)
    assert scored(wide, TEXT) == pytest.approx(scored(narrow, TEXT), abs=1e-5)


def test_new_units_learn():
    shape = {"layers": 2, "weight_dropout": 0.0}
    narrow, wide = model(**shape, hidden=6), model(**shape, hidden=18)
    widen(wide, narrow)
    words = torch.from_numpy(TEXT.ids[:40].astype("int64")).view(10, 4)
    loss = wide.eval().loss(
        words[:-1],
        words[1:].flatten(),
        wide.encoder.initial_state(4),
        torch.zeros(36, 0, dtype=torch.int64),
    )
    loss.nats.backward()
    read_of_new = wide.encoder.layers[1].input_weight.grad[:, 6:]
    assert (wide.encoder.layers[1].input_weight[:, 6:] == 0).all()
    assert (read_of_new != 0).any(dim=0).all()


def test_the_smallest_weights_of_each_matrix_become_zeros_and_biases_stay():
    network, before = model(), model()
    prune(network, 0.8)
    for (name, now), was in zip(network.named_parameters(), before.parameters(), strict=True):
        if now.ndim < 2:
            assert torch.equal(now, was), name
            continue
        assert int((now == 0).sum()) == int(0.8 * now.numel())
        assert was[now == 0].abs().max() <= was[now != 0].abs().min()
        assert torch.equal(now[now != 0], was[now != 0])


def test_more_zeros_hold_those_of_fewer():
    network = model()
    for share in (0.0, 0.5, 0.9):
        prune(network, share)
    at_once = model()
    prune(at_once, 0.9)
    for one, other in zip(network.parameters(), at_once.parameters(), strict=True):
        assert torch.equal(one, other)
