"""The output's weights by least squares, over an encoder that stays as it is."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from accord.models.common.batching import Sentences
from accord.models.network.language_model import LanguageModel
from accord.models.network.states import states
from accord.models.training.calibration import golden_section

RIDGE = 1e-3  # added to the variance of each unit, as a share of the mean variance
UNSEEN = 5.0  # words in the mean state that each feature is taken to have been seen before
LEAST, MOST, ROUNDS = -5.0, 1.0, 8  # log κ is looked for between these


class Moments(NamedTuple):
    """What is known of the states before the words of a text."""

    words: int
    mean: Tensor  # (H)
    covariance: Tensor  # (H × H)
    count: Tensor  # of the words of each signature (S)
    sums: Tensor  # of the states before them, less the mean (S × H)


@torch.inference_mode()
def moments(model: LanguageModel, text: Sentences) -> Moments:
    size, signature = model.output.weight.shape[1], model.output.signature
    double = {"dtype": torch.float64, "device": signature.device}
    total, squares = torch.zeros(size, **double), torch.zeros(size, size, **double)
    signatures = len(model.output.background.starts) - 1
    count, sums = torch.zeros(signatures, **double), torch.zeros(signatures, size, **double)
    for at in states(model, text):
        h, of = at.h.double(), signature[at.words]
        total += h.sum(dim=0)
        squares += h.T @ h
        count += of.bincount(minlength=signatures)
        sums.index_add_(0, of, h)
    mean = total / len(text.ids)
    covariance = squares / len(text.ids) - mean.outer(mean)
    return Moments(len(text.ids), mean, covariance, count, sums - count.unsqueeze(1) * mean)


@torch.no_grad()
def solve(model: LanguageModel, found: Moments) -> None:
    """Set W and c of the output by ridge regression of φ, the next word's, on the state.

        E[φ_f | h] ≈ E[φ_f] + Cov(φ_f, h)·C⁻¹·(h − h̄),    C the covariance of h, and a little more

    An exponent wants the logarithm of a ratio: divided by E[φ_f], the slope is that of linear
    discriminant analysis, C⁻¹·m_f, m_f being the mean of h − h̄ before words that have f. Before
    b, with its constant,

        a_f = m_f·C⁻¹·(h − h̄) − ½·m_f·C⁻¹·m_f

    For features that are 0 or 1; of a rare one m_f is drawn towards 0.
    """
    output = model.output
    count = output.product.transposed(found.count.float().unsqueeze(1))
    mean = output.product.transposed(found.sums.float()) / (count + UNSEEN)
    variance = found.covariance.diagonal().mean()
    ridge = RIDGE * variance * torch.eye(len(found.mean), device=mean.device).double()
    slope = torch.linalg.solve(found.covariance + ridge, mean.double().T).T
    output.weight.copy_(slope)
    output.bias.copy_(-(slope @ found.mean) - (slope * mean).sum(dim=1) / 2)


def least_squares(
    model: LanguageModel, train: Sentences, valid: Sentences, seed: int, say: Callable[[str], None]
) -> None:
    """The output's weights are solved for, and the others stay as they were drawn."""
    fit_readout(model, train, valid)


def fit_readout(model: LanguageModel, train: Sentences, valid: Sentences) -> None:
    """Solve for the output's weights, and scale them by the κ that suits validation best.

    Features that go together say the same several times over, so that κ is below 1.
    """
    solve(model, moments(model, train))
    output = model.output
    weight, bias = output.weight.detach().clone(), output.bias.detach().clone()

    @torch.no_grad()
    def loss(log_scale: float) -> float:
        output.weight.copy_(weight * math.exp(log_scale))
        output.bias.copy_(bias * math.exp(log_scale))
        return -float(model.score(valid).mean())

    loss(golden_section(loss, LEAST, MOST, ROUNDS))
