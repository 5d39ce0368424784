"""The baseline outputs answer as the log-linear layer does."""

import numpy as np
import pytest
import torch
from log_linear_cases import random_states

from models.adaptive import Adaptive
from models.background import Uniform
from models.features import Features
from models.log_linear import LogLinear
from models.softmax import Softmax

SIZE = 64
MASS = np.random.default_rng(0).permutation(40) + 1.0


def outputs():
    torch.manual_seed(0)
    one_hot = Features.one_hot(40)
    return [
        Softmax(40, SIZE),
        Adaptive(40, SIZE, mass=MASS, cutoffs=[5, 20]),
        Adaptive(40, SIZE),
        LogLinear(one_hot, Uniform(one_hot), SIZE),
    ]


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


@pytest.mark.parametrize("output", outputs(), ids=lambda output: type(output).__name__)
def test_a_word_out_of_range_is_refused(output):
    with pytest.raises(IndexError, match="words: expected word ids from 0 to under 40; got 40"):
        output.loss(torch.zeros(1, SIZE), torch.tensor([40]))


def test_the_softmax_is_the_log_linear_model_with_one_hot_features():
    softmax, *_, log_linear = outputs()
    log_linear.load_state_dict(softmax.state_dict())
    h = random_states(8, SIZE, dtype=torch.float32)
    assert torch.allclose(softmax.log_prob(h), log_linear.log_prob(h), atol=1e-6)


def test_the_softmax_may_share_its_weights():
    weight = torch.nn.Parameter(torch.zeros(40, SIZE))
    assert Softmax(40, SIZE, weight=weight).weight is weight
    with pytest.raises(
        ValueError, match=r"weight: expected 40 features × 65 to tie; got \(40, 64\)"
    ):
        Softmax(40, SIZE + 1, weight=weight)


def test_adaptive_puts_the_frequent_words_into_the_head():
    adaptive = outputs()[1]
    frequent = np.argsort(-MASS)[:5]
    assert sorted(adaptive.rank[torch.from_numpy(frequent)].tolist()) == [0, 1, 2, 3, 4]
