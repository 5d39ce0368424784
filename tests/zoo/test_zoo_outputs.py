"""Outputs by classes, by samples and by sampled expectations are what their definitions say."""

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
from accord.models.encoder import FeatureProduct
from accord.models.log_linear import LogLinear, OutputContext
from accord.models.parts import OUTPUTS
from accord.models.phi import Features
from accord.models.softmax import SignatureOutput
from accord.zoo.outputs import ClassBased, NoiseContrastive, Sampled, nested

SIZE = 64
MASS = np.random.default_rng(0).permutation(40) + 1.0
CLASSES = np.random.default_rng(1).permutation(np.repeat(np.arange(5), [20, 1, 9, 2, 8]))
# The 40 words in 25 signatures, each with a feature of its own but the last two, with two each.
SHARED = Features(
    np.array([*range(24), 25, 27]),
    np.array([*range(23), 23, 0, 23, 1]),
    np.ones(27),
    np.arange(40) % 25,
    feature_count=24,
)


def _tied(features: Features) -> ClassBased:
    weight = torch.nn.Parameter(torch.randn(features.feature_count, SIZE))
    classes = np.arange(features.signature_count) % 4
    return ClassBased(classes, SIZE, weight=weight, product=FeatureProduct(features))


def outputs():
    torch.manual_seed(0)
    return [
        ClassBased(CLASSES, SIZE),
        ClassBased(CLASSES, SIZE, np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1])),
        Sampled(MASS, SIZE).eval(),
        NoiseContrastive(MASS, SIZE).eval(),
        SignatureOutput(_tied(SHARED), SHARED, Unigram(SHARED, MASS)),
    ]


def test_a_class_and_then_a_word_of_it():
    output = ClassBased(CLASSES, SIZE)
    h = random_states(6, SIZE, dtype=torch.float32)
    p = output.log_prob(h).exp()
    by_class = torch.stack([p[:, number == CLASSES].sum(dim=1) for number in range(5)], dim=1)
    assert torch.allclose(by_class, output.classes.log_prob(h).exp(), atol=1e-6)
    with pytest.raises(ValueError, match="classes: expected words in each; 1 has none"):
        ClassBased(np.array([0, 2, 2]), SIZE)


def test_a_tree_goes_down_by_one_choice_at_each_of_its_levels():
    above, root = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1])
    output = ClassBased(CLASSES, SIZE, above, root)
    h = random_states(6, SIZE, dtype=torch.float32)
    p = output.log_prob(h).exp()
    of_root = root[above[CLASSES]]
    by_root = torch.stack([p[:, number == of_root].sum(dim=1) for number in range(2)], dim=1)
    assert torch.allclose(by_root, output.classes.classes.classes.log_prob(h).exp(), atol=1e-6)


def test_nested_classes_are_small_and_lie_inside_those_given():
    classes = np.repeat([0, 1, 2], [1, 30, 9])
    mass = np.random.default_rng(0).permutation(40) + 1.0
    levels = nested(classes, mass, branches=4)
    assert len(levels) == 3
    assert all(np.bincount(level).max() <= 4 for level in levels)
    assert (levels[2][levels[1][levels[0]]] == classes).all()
    likeliest = np.argsort(-np.where(classes == 1, mass, 0))[:4]
    assert len({*levels[0][likeliest]}) == 1
    assert [len(level) for level in nested(classes, mass, branches=30)] == [40]


@pytest.mark.parametrize("output", [ClassBased(CLASSES, SIZE), _tied(SHARED)])
def test_a_word_in_its_class_has_one_probability_on_every_device(output):
    """The ways of a CPU and of a GPU, and their gradients."""
    words = torch.arange(9) % len(output.of)
    found = []
    for way in (output._class_by_class, output._among_all):
        h = random_states(9, SIZE, dtype=torch.float32).requires_grad_()
        log_p = way(h, words, output.of[words])
        found.append((log_p, *torch.autograd.grad(log_p.sum(), [h, output.weight])))
    for one, other in zip(*found, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("kind", [Sampled, NoiseContrastive])
def test_a_sample_teaches_what_all_words_would(kind):
    """Trained on words drawn from a distribution, the scores come to be its own."""
    torch.manual_seed(0)
    output, h = kind(MASS, 2, samples=200), torch.ones(200, 2)
    truth = torch.linspace(0, 3, 40).softmax(dim=0)
    optimiser = torch.optim.Adam(output.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, 0.98)
    for _ in range(150):
        optimiser.zero_grad()
        output.train().loss(h, truth.multinomial(200, replacement=True)).backward()
        optimiser.step()
        schedule.step()
    found = output.eval().log_prob(h[:1])[0]
    assert (truth * (truth.log() - found)).sum() < 0.02
    if kind is NoiseContrastive:
        assert output._scores(h[:1]).logsumexp(dim=1).item() == pytest.approx(0, abs=0.1)


def test_with_many_samples_the_gradient_is_the_softmax_s():
    torch.manual_seed(0)
    output = Sampled(MASS, SIZE, samples=200_000)
    h, words = random_states(8, SIZE, dtype=torch.float32), torch.arange(8) * 5
    gradients = []
    for training in (True, False):
        output.zero_grad()
        output.train(training).loss(h, words).backward()
        gradients.append(output.weight.grad.clone())
    assert torch.allclose(*gradients, atol=0.01 * float(gradients[1].abs().max()))


FEATURES, RANDOM_MASS = random_features(), random_mass(60) + 0.01


def layer_of(draw, samples):
    given = OutputContext("", FEATURES, Unigram(FEATURES, RANDOM_MASS), 5, None, None)
    choice = {"kind": "sampled-expectations", "draw": draw, "samples": samples}
    return with_random_weights(OUTPUTS.make(choice, given).to(DOUBLE), scale=0.5)


def exact_of(layer):
    exact = LogLinear(FEATURES, Unigram(FEATURES, RANDOM_MASS), 5).to(DOUBLE)
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
