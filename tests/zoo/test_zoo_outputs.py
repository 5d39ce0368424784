"""Outputs by classes and by samples are what their definitions say."""

import numpy as np
import pytest
import torch
from log_linear_cases import random_states

from accord.models.background import Unigram
from accord.models.encoder import FeatureProduct
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
