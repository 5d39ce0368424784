"""Optimisers (AdamW, SGD, RMSprop, Muon) and schedules of the learning rate."""

import math
from collections.abc import Iterable
from functools import partial
from inspect import unwrap
from itertools import chain
from typing import Annotated, Any, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.optim import SGD, AdamW, Optimizer, RMSprop

from accord.errors import AccordError
from accord.models.common.schema import Range
from accord.models.parts import OPTIMISERS
from accord.models.recipe import Recipe

MOMENTUM = 0.95
QUINTIC = (3.4445, -4.7750, 2.0315)  # steepest at 0, for directions that were hardly learned
ROUNDS = 5  # bring singular values to between 0.5 and 1.5, which is as good as 1
RMS_OF_ADAMW = 0.2  # of a weight's step divided by the learning rate

Kind = TypeVar("Kind", bound=Optimizer)


def uncompiled(kind: type[Kind]) -> type[Kind]:
    """Return the optimiser with methods that do not import torch's compiler.

    torch wraps these methods for code that is being compiled, which Accord's is not. Their first
    call imports the compiler: 1.8 s of every process that trains.
    """
    names = ("add_param_group", "load_state_dict", "state_dict", "zero_grad")
    methods: dict[str, Any] = {name: unwrap(getattr(kind, name)) for name in names}
    methods["step"] = torch.no_grad()(unwrap(kind.step))
    return cast(type[Kind], type(kind.__name__, (kind,), methods))


@uncompiled
class Muon(Optimizer):
    """W ← W − η·λ·W − η·s·O, with O ≈ U·Vᵀ where U·S·Vᵀ is the momentum, and s = 0.2·√max(A, B).

    s makes the steps of an A × B matrix as long as AdamW's, so that one learning rate serves both
    (Liu et al. 2025). The momentum is Nesterov's. PyTorch's Muon multiplies in bfloat16 only, which
    takes two hundred times as long on a processor without it.
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
    """Return nearly U·Vᵀ for U·S·Vᵀ, by Newton and Schulz: X ← a·X + (b·XXᵀ + c·(XXᵀ)²)·X."""
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

    Few words use each row of embeddings and outputs, for which Muon is not made.
    """

    def __init__(self, model: nn.Module, further: Weights, lr: float, weight_decay: float):
        trained = {name: w for name, w in model.named_parameters() if w.requires_grad}
        in_encoder = {n for n, w in trained.items() if n.startswith("encoder.") and w.ndim == 2}
        if not in_encoder:
            raise AccordError(
                "optimiser: muon expects an encoder that trains matrices; it has none"
            )
        others = [weight for name, weight in trained.items() if name not in in_encoder]
        others += further
        matrices = [trained[name] for name in sorted(in_encoder)]
        self.both: tuple[Optimizer, Optimizer] = (
            Muon(matrices, lr=lr, weight_decay=weight_decay),
            ADAMW(others, lr=lr, weight_decay=weight_decay),
        )

    @property
    def param_groups(self) -> list[dict]:
        return list(chain.from_iterable(optimiser.param_groups for optimiser in self.both))

    def zero_grad(self, set_to_none: bool = True) -> None:
        for optimiser in self.both:
            optimiser.zero_grad(set_to_none)

    def step(self) -> None:
        for optimiser in self.both:
            optimiser.step()

    def state_dict(self) -> dict[str, Any]:
        """Return one state: the weights of AdamW are numbered after those of Muon."""
        first, second = (optimiser.state_dict() for optimiser in self.both)
        shift = len(first["param_groups"][0]["params"])
        state = {shift + number: values for number, values in second["state"].items()}
        return {
            "state": {**first["state"], **state},
            "param_groups": [*first["param_groups"], *second["param_groups"]],
        }

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        shift = len(saved["param_groups"][0]["params"])
        groups = saved["param_groups"]
        for optimiser, group, first in zip(self.both, groups, (0, shift), strict=True):
            numbers = range(first, first + len(group["params"]))
            state = {n - first: saved["state"][n] for n in numbers if n in saved["state"]}
            optimiser.load_state_dict({"state": state, "param_groups": [group]})


def adamw(model: nn.Module, further: Weights, lr: float, weight_decay: float) -> Optimizer:
    """Adam with decoupled weight decay."""
    return ADAMW([*model.parameters(), *further], lr=lr, weight_decay=weight_decay)


def rmsprop(
    model: nn.Module,
    further: Weights,
    lr: float,
    weight_decay: float,
    *,
    alpha: Annotated[
        float, Range(ge=0, lt=1), "how much of the mean square is kept; Keras keeps 0.9"
    ] = 0.99,
) -> Optimizer:
    """Steps over the root of the mean square of gradients."""
    weights = [*model.parameters(), *further]
    return uncompiled(RMSprop)(weights, alpha=alpha, lr=lr, weight_decay=weight_decay)


def sgd(
    model: nn.Module,
    further: Weights,
    lr: float,
    weight_decay: float,
    *,
    momentum: Annotated[float, Range(ge=0, lt=1), "how much of the last step is taken again"] = 0.0,
) -> Optimizer:
    """Plain steps along the gradient."""
    weights = [*model.parameters(), *further]
    return uncompiled(SGD)(weights, momentum=momentum, lr=lr, weight_decay=weight_decay)


def optimiser(recipe: Recipe, model: nn.Module, further: Weights = ()) -> Optimizer | MuonAndAdamW:
    """Return the optimiser of a recipe, for a model and further weights."""
    return OPTIMISERS.make(
        recipe.optimiser, model, further, recipe.learning_rate, recipe.weight_decay
    )


class Plateau:
    """Divides the learning rate after an epoch without gain in validation."""

    def __init__(self, *, decay: Annotated[float, Range(ge=1e-09), "by what it is divided"] = 3.0):
        self.decay = decay

    def rate(self, first: float, done: float, epochs: int) -> float | None:
        """Return the learning rate after a number of epochs, fractions included; None: as it is."""
        return None

    def without_gain(self, rate: float) -> float:
        """Return the learning rate after an epoch without gain in validation."""
        return rate / self.decay


class LinearDecay(Plateau):
    """Lowers the learning rate from word to word, to zero at the end of the last epoch."""

    def __init__(self):
        super().__init__(decay=1.0)

    def rate(self, first: float, done: float, epochs: int) -> float:
        return first * max(0.0, 1 - done / epochs)


class InverseDecay(Plateau):
    """Lowers the learning rate as 1/(1 + epochs done), fractions included."""

    def __init__(self):
        super().__init__(decay=1.0)

    def rate(self, first: float, done: float, epochs: int) -> float:
        return first / (1 + done)
