"""A small encoder bred instead of trained, with an output by least squares (EVOLINO)."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from accord.models.common.batching import Sentences
from accord.models.network.language_model import LanguageModel
from accord.models.training.gradient_free.least_squares import fit_readout, moments, solve

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
    generations: int = 20,
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
    return -float(model.score(judging).mean())


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
