"""Weights set without a gradient.

The output by least squares, the encoder by evolution, a wide network from a narrow one; the
smallest weights are set to zero.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from accord.errors import AccordError
from accord.models.calibration import golden_section
from accord.models.common.checks import expect
from accord.models.common.registry import about
from accord.models.common.schema import Range
from accord.models.data import Sentences
from accord.models.encoder import Recurrent, RecurrentLayer
from accord.models.inference.torch_model import TorchModel
from accord.models.log_linear import log_linear_of
from accord.models.model import LanguageModel
from accord.models.recipe import Recipe

RIDGE = 1e-3  # added to the variance of each unit, as a share of the mean variance
UNSEEN = 5.0  # words in the mean state that each feature is taken to have been seen before
LEAST, MOST, ROUNDS = -5.0, 1.0, 8  # log κ is looked for between these


class Moments(NamedTuple):
    """Moments of the states before the words of a text."""

    words: int
    mean: Tensor  # (H)
    covariance: Tensor  # (H × H)
    times: Tensor  # that each signature occurs (S)
    sums: Tensor  # of the states before them, less the mean (S × H)


@torch.inference_mode()
def moments(model: LanguageModel, text: Sentences) -> Moments:
    output = log_linear_of(model)
    size, signature = output.weight.shape[1], output.signature
    zeros = partial(torch.zeros, dtype=torch.float64, device=signature.device)
    total, squares = zeros(size), zeros(size, size)
    signatures = output.product.signature_count
    times, sums = zeros(signatures), zeros(signatures, size)
    for read in TorchModel(model).states(text):
        words = torch.from_numpy(text.ids[read.positions].astype(np.int64))
        h, of = read.h.double(), signature[words.to(signature.device)]
        total += h.sum(dim=0)
        squares += h.T @ h
        times += of.bincount(minlength=signatures)
        sums.index_add_(0, of, h)
    mean = total / len(text.ids)
    covariance = squares / len(text.ids) - mean.outer(mean)
    return Moments(len(text.ids), mean, covariance, times, sums - times.unsqueeze(1) * mean)


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
    output = log_linear_of(model)
    times = output.product.transposed(found.times.float().unsqueeze(1))
    mean = output.product.transposed(found.sums.float()) / (times + UNSEEN)
    variance = found.covariance.diagonal().mean()
    ridge = RIDGE * variance * torch.eye(len(found.mean), device=mean.device).double()
    slope = torch.linalg.solve(found.covariance + ridge, mean.double().T).T
    output.weight.copy_(slope)
    output.bias.copy_(-(slope @ found.mean) - (slope * mean).sum(dim=1) / 2)


def least_squares(
    model: LanguageModel, train: Sentences, valid: Sentences, seed: int, say: Callable[[str], None]
) -> None:
    """Solve for the output's weights; the others stay random."""
    fit_readout(model, train, valid)


def fit_readout(model: LanguageModel, train: Sentences, valid: Sentences) -> None:
    """Solve for the output's weights, and scale them by the κ that suits validation best.

    Features that go together say the same several times over, so that κ is below 1.
    """
    solve(model, moments(model, train))
    output = log_linear_of(model)
    weight, bias = output.weight.detach().clone(), output.bias.detach().clone()

    @torch.no_grad()
    def loss(log_scale: float) -> float:
        output.weight.copy_(weight * math.exp(log_scale))
        output.bias.copy_(bias * math.exp(log_scale))
        return -float(TorchModel(model).score(valid).mean())

    loss(golden_section(loss, LEAST, MOST, ROUNDS))


PARENTS = 4  # of each generation
CHILDREN = 12
MOST_WORDS = 4000  # that an encoder is judged by: half to solve for the output, half to score
FIRST_STEP, LAST_STEP = 0.1, 0.01  # of the mutations, as a share of a weight's usual size

Genome = dict[str, Tensor]  # the encoder's weights by name


def evolve(
    model: LanguageModel,
    train: Sentences,
    valid: Sentences,
    seed: int,
    say: Callable[[str], None] = lambda line: None,
    *,
    generations: Annotated[int, Range(ge=1), "of the evolution"] = 20,
) -> None:
    """Breed the encoder's weights, then solve for the output's (Schmidhuber et al. 2007).

    An encoder is as fit as its text is likely, once the output is solved for: on sentences of the
    training text that had no part in solving. The fittest live on; each child has half of its
    weights' matrices of one parent and half of another, and steps of Cauchy's distribution, of
    which most are small and some very large.
    """
    generator = torch.Generator().manual_seed(seed)
    own, judging = _halves(train, np.random.default_rng(seed))
    alive = [(_fitness(model, own, judging), _genome(model))]
    for generation in range(generations):
        step = FIRST_STEP * (LAST_STEP / FIRST_STEP) ** (generation / max(1, generations - 1))
        children = [_child(alive, step, generator) for _ in range(CHILDREN)]
        for child in children:
            _put(model, child)
            alive.append((_fitness(model, own, judging), child))
        alive = sorted(alive, key=lambda each: each[0])[:PARENTS]
        say(f"  generation {generation + 1}: {alive[0][0]:.3f} nats on sentences held out")
    _put(model, alive[0][1])
    fit_readout(model, train, valid)


def _halves(train: Sentences, generator: np.random.Generator) -> tuple[Sentences, Sentences]:
    """Two draws of whole sentences, which share none."""
    order = generator.permutation(len(train.lengths))
    enough = np.searchsorted(np.cumsum(train.lengths[order]), MOST_WORDS) + 1
    is_drawn = np.zeros((2, len(order)), bool)
    for number, chosen in enumerate(order[: max(2, enough)]):
        is_drawn[number % 2, chosen] = True
    return train.chosen(is_drawn[0]), train.chosen(is_drawn[1])


def _fitness(model: LanguageModel, own: Sentences, judging: Sentences) -> float:
    solve(model, moments(model, own))
    return -float(TorchModel(model).score(judging).mean())


def _genome(model: LanguageModel) -> Genome:
    return {name: weight.detach().clone() for name, weight in model.encoder.named_parameters()}


@torch.no_grad()
def _put(model: LanguageModel, genome: Genome) -> None:
    for name, weight in model.encoder.named_parameters():
        weight.copy_(genome[name])


def _child(alive: list[tuple[float, Genome]], step: float, generator: torch.Generator) -> Genome:
    one, other = (
        alive[int(torch.randint(len(alive), (), generator=generator))][1] for _ in range(2)
    )
    child = {}
    for name, weight in one.items():
        is_other = bool(torch.rand((), generator=generator) < 0.5)
        inherited = other[name] if is_other else weight
        noise = torch.empty(weight.shape).cauchy_(generator=generator).to(weight.device)
        child[name] = inherited + step * weight.std() * noise.clamp(-10, 10)
    return child


class NextTraining(Protocol):
    """The training that follows a phase."""

    recipe: Recipe
    train: Sentences

    def build(self, recipe: Recipe) -> LanguageModel: ...

    def fit(self, model: LanguageModel, recipe: Recipe, text: Sentences, out: Path) -> None: ...


def check_growth(recipe: Recipe) -> None:
    """Check that a hidden layer can be widened, and that no other phase trains the weights."""
    times = recipe.phases["growth"]["times"]
    alone = recipe.pretraining == "none"
    expect("phases.growth", alone, "no pretraining beside it", recipe.pretraining)
    expect("phases.growth", recipe.start is None, "no model to start from", recipe.start)
    is_hidden = recipe.layers > 1 or not recipe.tied
    expect("phases.growth", is_hidden, "a hidden layer to widen (layers, tied)", recipe.layers)
    expect("phases.growth", recipe.hidden % times == 0, "a divisor of hidden as times", times)


@about(check="accord.zoo.gradient_free:check_growth")
def grow(
    model: LanguageModel,
    training: NextTraining,
    out: Path,
    *,
    times: Annotated[int, Range(ge=2), "narrower the hidden layers are at first"] = 2,
    epochs: Annotated[int, Range(ge=1), "over the text, at most"] = 4,
) -> None:
    """Train a narrower model first, and start the wide one from its weights."""
    recipe = training.recipe.unfitted()
    first = replace(recipe, hidden=recipe.hidden // times, phases={}, epochs=epochs)
    narrow = training.build(first)
    training.fit(narrow, first, training.train, out)
    widen(model.to(next(narrow.parameters()).device), narrow)


@torch.no_grad()
def widen(wide: LanguageModel, narrow: LanguageModel) -> None:
    """Copy the weights of a narrow model to a wide one, so that both compute the same.

    As in Chen et al. (2016) the function is kept, here by weights of zero: what units of the narrow
    one read of new units, and what the output does, counts for nothing at first. What new units
    read is as it was drawn, so that they differ, and all learn.
    """
    if not isinstance(wide.encoder, Recurrent):
        raise AccordError(
            f"growth: expected an encoder of elman, gru, irnn or lstm layers to widen, got "
            f"{wide.recipe.encoder}"
        )
    weights = dict(wide.named_parameters())
    gates = {
        id(weight): layer.gates[layer.name]
        for layer in wide.modules()
        if isinstance(layer, RecurrentLayer)
        for weight in layer.parameters()
    }
    for name, learned in narrow.named_parameters():  # no temperature, which is fitted at the end
        _put_weight(learned, weights[name], gates.get(id(weights[name]), 1))


def _put_weight(learned: Tensor, weight: nn.Parameter, gates: int) -> None:
    """Put a matrix into the corner of a larger one, that of each gate into that gate's.

    The rows that it fills read nothing else.
    """
    small, large = (each.unflatten(0, (gates, -1)) for each in (learned, weight))
    rows = small.shape[1]
    large[:, :rows] = 0
    corner = (slice(None), slice(rows), *(slice(size) for size in small.shape[2:]))
    large[corner] = small


@torch.no_grad()
def prune(model: nn.Module, share: float) -> None:
    """Set the smallest weights of each matrix to zero, by their share; biases stay."""
    if not 0 <= share < 1:
        raise AccordError(f"share: expected from 0 to under 1, got {share}")
    for weight in model.parameters():
        zeros = int(share * weight.numel())
        if weight.ndim < 2 or not zeros:
            continue
        smallest = weight.abs().flatten().argsort(stable=True)[:zeros]
        weight.view(-1)[smallest] = 0
