"""A narrow network widened; the smallest weights set to zero."""

from dataclasses import replace
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor, nn

from accord.models.common.batching import Sentences
from accord.models.encoders.recurrent import Recurrent, RecurrentLayer
from accord.models.network.language_model import LanguageModel
from accord.models.recipe import Recipe


class NextTraining(Protocol):
    """The training that follows a phase."""

    recipe: Recipe
    train: Sentences

    def build(self, recipe: Recipe) -> LanguageModel: ...

    def fit(self, model: LanguageModel, recipe: Recipe, text: Sentences, out: Path) -> None: ...


def grow(
    model: LanguageModel, training: NextTraining, out: Path, *, times: int = 2, epochs: int = 4
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
        raise ValueError(
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
        _put(learned, weights[name], gates.get(id(weights[name]), 1))


def _put(learned: Tensor, weight: nn.Parameter, gates: int) -> None:
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
        raise ValueError(f"share: expected from 0 to under 1, got {share}")
    for weight in model.parameters():
        zeros = int(share * weight.numel())
        if weight.ndim < 2 or not zeros:
            continue
        smallest = weight.abs().flatten().argsort(stable=True)[:zeros]
        weight.view(-1)[smallest] = 0
