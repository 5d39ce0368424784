"""AdamW, SGD, RMSprop, Muon, and their schedules.

PyTorch's own always multiplies in bfloat16, which a processor without it computes two hundred times
slower, and is not in every PyTorch that Accord runs with.
"""

import math
from collections.abc import Iterable
from functools import partial
from inspect import unwrap
from itertools import chain
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.optim import SGD, AdamW, Optimizer, RMSprop

from accord.errors import AccordError
from accord.models.recipe import Recipe
from accord.models.training_parts import OPTIMISERS

MOMENTUM = 0.95
QUINTIC = (3.4445, -4.7750, 2.0315)  # steepest at 0, where directions are that were hardly learned
ROUNDS = 5  # bring singular values to between 0.5 and 1.5, which is as good as 1
RMS_OF_ADAMW = 0.2  # of the step of a weight, times the learning rate

Steps = TypeVar("Steps", bound=Optimizer)


def uncompiled(kind: type[Steps]) -> type[Steps]:
    """An optimiser whose methods do not import torch's compiler, which Accord does not use.

    torch wraps these methods so that they step out of code that is being compiled. The first call
    would import the compiler, which takes 1.8 s of every process that trains.
    """
    names = ("add_param_group", "load_state_dict", "state_dict", "zero_grad")
    methods: dict[str, Any] = {name: unwrap(getattr(kind, name)) for name in names}
    methods["step"] = torch.no_grad()(unwrap(kind.step))
    return cast(type[Steps], type(kind.__name__, (kind,), methods))


@uncompiled
class Muon(Optimizer):
    """W ← W − η·λ·W − η·s·O, with O ≈ U·Vᵀ where U·S·Vᵀ is the momentum, and s = 0.2·√max(A, B).

    s makes the steps of an A × B matrix as long as AdamW's, so that one learning rate serves both
    (Liu et al. 2025). The momentum is Nesterov's.
    """

    def __init__(self, matrices: Iterable[nn.Parameter], lr: float, weight_decay: float):
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]  # no closure is ever given
        for group in self.param_groups:
            for matrix in group["params"]:
                if matrix.grad is not None:
                    self._step(matrix, matrix.grad, group["lr"], group["weight_decay"])

    def _step(self, matrix: nn.Parameter, grad: Tensor, lr: float, weight_decay: float) -> None:
        state = self.state[matrix]
        if not state:
            state["momentum_buffer"] = torch.zeros_like(matrix)
        momentum = state["momentum_buffer"].lerp_(grad, 1 - MOMENTUM)
        direction = orthogonal(grad.lerp(momentum, MOMENTUM))
        matrix.mul_(1 - lr * weight_decay)
        matrix.add_(direction, alpha=-lr * RMS_OF_ADAMW * math.sqrt(max(matrix.shape)))


def orthogonal(matrix: Tensor) -> Tensor:
    """Near U·Vᵀ of the matrix U·S·Vᵀ, by Newton and Schulz: X ← a·X + (b·XXᵀ + c·(XXᵀ)²)·X."""
    if matrix.shape[0] > matrix.shape[1]:
        return orthogonal(matrix.T).T
    a, b, c = QUINTIC
    x = matrix.bfloat16() if matrix.is_cuda else matrix
    x = x / x.norm().clamp(min=torch.finfo(torch.float32).eps)
    for _ in range(ROUNDS):
        square = x @ x.T
        x = torch.addmm(x, torch.addmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x


Weights = Iterable[nn.Parameter]
ADAMW = partial(uncompiled(AdamW), fused=True)  # one pass over the weights: half the time


class MuonAndAdamW:
    """Muon for the encoder's matrices, AdamW for all other weights.

    Rows of embeddings and outputs are met by few words each, so that Muon is not for them.
    """

    def __init__(self, model: nn.Module, further: Weights, lr: float, weight_decay: float):
        learning = {name: each for name, each in model.named_parameters() if each.requires_grad}
        inside = {n for n, each in learning.items() if n.startswith("encoder.") and each.ndim == 2}
        if not inside:
            raise AccordError(
                "optimiser: muon expects an encoder that trains matrices; it has none"
            )
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


def adamw(model: nn.Module, further: Weights, lr: float, weight_decay: float) -> Optimizer:
    """Adam with decoupled weight decay."""
    return ADAMW([*model.parameters(), *further], lr=lr, weight_decay=weight_decay)


def rmsprop(
    model: nn.Module, further: Weights, lr: float, weight_decay: float, *, alpha: float = 0.99
) -> Optimizer:
    """Steps over the root of the mean square of gradients."""
    weights = [*model.parameters(), *further]
    return uncompiled(RMSprop)(weights, alpha=alpha, lr=lr, weight_decay=weight_decay)


def sgd(
    model: nn.Module, further: Weights, lr: float, weight_decay: float, *, momentum: float = 0.0
) -> Optimizer:
    """Plain steps along the gradient."""
    weights = [*model.parameters(), *further]
    return uncompiled(SGD)(weights, momentum=momentum, lr=lr, weight_decay=weight_decay)


def optimiser(recipe: Recipe, model: nn.Module, further: Weights = ()) -> Optimizer | MuonAndAdamW:
    """The optimiser of a recipe, for a model and further weights."""
    return OPTIMISERS.make(
        recipe.optimiser, model, further, recipe.learning_rate, recipe.weight_decay
    )


class Plateau:
    """The learning rate is divided after an epoch without gain in validation."""

    def __init__(self, *, decay: float = 3.0):
        self.decay = decay

    def rate(self, first: float, done: float, epochs: int) -> float | None:
        """The learning rate after this many epochs, perhaps a fraction; None: unchanged."""
        return None

    def without_gain(self, rate: float) -> float:
        """The learning rate after an epoch without gain in validation."""
        return rate / self.decay


class LinearDecay(Plateau):
    """The learning rate falls from word to word, to zero at the end of the last epoch."""

    def __init__(self):
        super().__init__(decay=1.0)

    def rate(self, first: float, done: float, epochs: int) -> float:
        return first * max(0.0, 1 - done / epochs)


class InverseDecay(Plateau):
    """The learning rate falls as 1/(1 + epochs done), fractions included."""

    def __init__(self):
        super().__init__(decay=1.0)

    def rate(self, first: float, done: float, epochs: int) -> float:
        return first / (1 + done)
