"""The baseline outputs answer as the log-linear layer does."""

import numpy as np
import pytest
import torch
from log_linear_cases import random_states

from accord.models.background import Uniform, Unigram
from accord.models.encoder import FeatureEmbedding
from accord.models.log_linear import LogLinear, OutputContext
from accord.models.parts import OUTPUTS
from accord.models.phi import Features
from accord.models.softmax import Adaptive, SelfNormalised, SignatureOutput, Softmax

SIZE = 64
MASS = np.random.default_rng(0).permutation(40) + 1.0
# The 40 words in 25 signatures, each with a feature of its own but the last two, with two each.
SHARED = Features(
    np.array([*range(24), 25, 27]),
    np.array([*range(23), 23, 0, 23, 1]),
    np.ones(27),
    np.arange(40) % 25,
    feature_count=24,
)
# Of which the first is no layer, and the others need a context.
LAYERS = sorted({*OUTPUTS.parts()} - {"background", "expert", "prefix-features"})


def outputs():
    torch.manual_seed(0)
    one_hot = Features.one_hot(40)
    return [
        Softmax(40, SIZE),
        Adaptive(40, SIZE, mass=MASS, cutoffs=[5, 20]),
        Adaptive(40, SIZE),
        SignatureOutput(Softmax(25, SIZE), SHARED, Unigram(SHARED, MASS)),
        *(
            OUTPUTS.make(name, _given(name, tied)).eval()
            for name in sorted(LAYERS)
            for tied in (0, 1)
        ),
        LogLinear(one_hot, Uniform(one_hot), SIZE),
    ]


def _given(name: str, tied: bool) -> OutputContext:
    embedding = FeatureEmbedding(SHARED, SIZE) if tied else None
    classes = np.arange(40) % 25 % 4
    return OutputContext(name, SHARED, Unigram(SHARED, MASS), SIZE, embedding, classes)


@pytest.mark.parametrize("output", outputs(), ids=lambda output: type(output).__name__)
def test_they_are_distributions_and_their_methods_agree(output):
    h, words = random_states(8, SIZE, dtype=torch.float32), torch.arange(8) * 5
    log_prob = output.log_prob(h)
    assert torch.allclose(log_prob.exp().sum(dim=1), torch.ones(8), atol=1e-5)
    of_words = output.log_prob_of(h, words)
    assert torch.allclose(of_words, log_prob.gather(1, words.unsqueeze(1)).squeeze(1), atol=1e-5)
    assert torch.allclose(output.loss(h, words), -of_words.mean())


@pytest.mark.parametrize("output", outputs(), ids=lambda output: type(output).__name__)
def test_they_train_under_autocast(output):
    h, words = random_states(8, SIZE, dtype=torch.float32), torch.arange(8) * 5
    exact = output.loss(h, words)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = output.loss(h.bfloat16(), words)
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(exact.item(), abs=0.02)
    loss.backward()
    assert all(parameter.grad.isfinite().all() for parameter in output.parameters())


def test_the_softmax_is_the_log_linear_model_with_one_hot_features():
    softmax, *_, log_linear = outputs()
    log_linear.load_state_dict(softmax.state_dict())
    h = random_states(8, SIZE, dtype=torch.float32)
    assert torch.allclose(softmax.log_prob(h), log_linear.log_prob(h), atol=1e-6)


@pytest.mark.parametrize("name", LAYERS)
def test_before_anything_is_learned_words_are_as_likely_as_they_are_frequent(name):
    output = OUTPUTS.make(name, _given(name, tied=False)).eval()
    p = output.log_prob(torch.zeros(1, SIZE)).exp()[0].detach().numpy()
    expected = MASS / MASS.sum()
    if name == "adaptive":  # whose clusters of rare words have no biases
        frequent = output.within.rank[output.signature] < 12
        p, expected = p[frequent], expected[frequent]
    assert p == pytest.approx(expected, rel=1e-4)


def test_a_softmax_that_normalises_itself_comes_to_need_no_z():
    """The scores of one that is trained so are nearly log p; those of another are not."""
    torch.manual_seed(0)
    h, truth = random_states(30, SIZE, dtype=torch.float32), torch.arange(30) % 40
    errors = []
    for penalty in (0.0, 1.0):
        output = SelfNormalised(MASS, SIZE, penalty)
        assert output._scores(torch.zeros(1, SIZE)).exp().sum().item() == pytest.approx(1, abs=1e-5)
        optimiser = torch.optim.Adam(output.parameters(), lr=0.02)
        for _ in range(100):
            optimiser.zero_grad()
            output.train().loss(h, truth).backward()
            optimiser.step()
        output.eval()
        log_z = output.score_of(h, truth) - output.log_prob_of(h, truth)
        assert torch.allclose(log_z, output._scores(h).logsumexp(dim=1), atol=1e-4)
        errors.append(log_z.square().mean().sqrt().item())
    assert errors[1] < 0.05 < errors[0] / 5


def test_words_share_the_mass_of_their_signature():
    background = Unigram(SHARED, MASS)
    output = SignatureOutput(Softmax(25, SIZE), SHARED, background)
    p = output.log_prob(random_states(3, SIZE, dtype=torch.float32)).exp().detach()
    assert p[:, 0] / p[:, 25] == pytest.approx([MASS[0] / MASS[25]] * 3, rel=1e-4)
