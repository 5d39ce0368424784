"""What takes the steps of a training, and how long they are."""

from collections.abc import Iterable
from functools import partial
from itertools import chain
from typing import Any

from torch import nn
from torch.optim import SGD, AdamW, Optimizer, RMSprop

from models.recipe import Recipe
from models.training.muon import Muon

Weights = Iterable[nn.Parameter]
ADAMW = partial(AdamW, fused=True)  # one pass over the weights: half the time


class MuonAndAdamW:
    """Muon for the encoder's matrices, AdamW for all other weights.

    Rows of embeddings and outputs are met by few words each, so that Muon is not for them.
    """

    def __init__(self, model: nn.Module, further: Weights, lr: float, weight_decay: float):
        learning = {name: each for name, each in model.named_parameters() if each.requires_grad}
        inside = {n for n, each in learning.items() if n.startswith("encoder.") and each.ndim == 2}
        if not inside:
            raise ValueError("optimiser: muon expects an encoder that trains matrices; it has none")
        others = [each for name, each in learning.items() if name not in inside]
        others += further
        matrices = [learning[name] for name in sorted(inside)]
        self.both: tuple[Optimizer, Optimizer] = (
            Muon(matrices, lr=lr, weight_decay=weight_decay),
            ADAMW(others, lr=lr, weight_decay=weight_decay),
        )

    @property
    def param_groups(self) -> list[dict]:
        return list(chain.from_iterable(each.param_groups for each in self.both))

    def zero_grad(self, set_to_none: bool = True) -> None:
        for each in self.both:
            each.zero_grad(set_to_none)

    def step(self) -> None:
        for each in self.both:
            each.step()

    def state_dict(self) -> dict[str, Any]:
        """As of one optimiser: the weights of the second are numbered after those of the first."""
        first, second = (each.state_dict() for each in self.both)
        shift = len(first["param_groups"][0]["params"])
        state = {shift + number: values for number, values in second["state"].items()}
        return {
            "state": {**first["state"], **state},
            "param_groups": [*first["param_groups"], *second["param_groups"]],
        }

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        shift = len(saved["param_groups"][0]["params"])
        for each, group, begin in zip(self.both, saved["param_groups"], (0, shift), strict=True):
            numbers = [begin + place for place in range(len(group["params"]))]
            state = {n - begin: saved["state"][n] for n in numbers if n in saved["state"]}
            each.load_state_dict({"state": state, "param_groups": [group]})


def optimiser(recipe: Recipe, model: nn.Module, further: Weights = ()) -> Optimizer | MuonAndAdamW:
    """The one that a recipe names, for a model and for weights that are trained beside it."""
    shared = {"lr": recipe.learning_rate, "weight_decay": recipe.weight_decay}
    if recipe.optimiser == "muon":
        return MuonAndAdamW(model, further, **shared)
    weights = [*model.parameters(), *further]
    if recipe.optimiser == "sgd":
        return SGD(weights, momentum=recipe.momentum, **shared)
    if recipe.optimiser == "rmsprop":
        return RMSprop(weights, alpha=recipe.rmsprop_alpha, **shared)
    return ADAMW(weights, **shared)


def scheduled_rate(recipe: Recipe, epochs: float) -> float | None:
    """The learning rate after so many epochs, in part perhaps; none where no schedule says it."""
    if recipe.schedule == "linear":
        return recipe.learning_rate * max(0.0, 1 - epochs / recipe.epochs)
    if recipe.schedule == "inverse":
        return recipe.learning_rate / (1 + epochs)
    return None
