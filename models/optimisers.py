"""Optimisers (AdamW, SGD, RMSprop, Muon) and schedules of the learning rate."""

import math
from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from inspect import unwrap
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

    torch wraps these methods for code that is being compiled, which no optimiser here is. Their
    first call imports the compiler: 1.8 s of every process that trains.
    """
    names = ("add_param_group", "load_state_dict", "state_dict", "zero_grad")
    methods: dict[str, Any] = {name: unwrap(getattr(kind, name)) for name in names}
    methods["step"] = torch.no_grad()(unwrap(kind.step))
    return cast(type[Kind], type(kind.__name__, (kind,), methods))


@uncompiled
class PlainAdamW(AdamW):
    """AdamW without torch's compiler."""


Weights = Iterable[nn.Parameter]
ADAMW = partial(PlainAdamW, fused=True)  # one pass over the weights: half the time


class MuonAndAdamW(PlainAdamW):
    """Muon for the encoder's matrices, AdamW for all other weights.

        W ← W − η·λ·W − η·s·O,    O ≈ U·Vᵀ of the momentum U·S·Vᵀ,    s = 0.2·√max(A, B)

    s makes the steps of an A × B matrix as long as AdamW's, so that one learning rate serves both
    (Liu et al. 2025). The momentum is Nesterov's. Few words use each row of embeddings and outputs,
    for which Muon is not made. PyTorch's own Muon multiplies in bfloat16, which takes two hundred
    times as long on a processor without it.
    """

    def __init__(self, model: nn.Module, further: Weights, lr: float, weight_decay: float):
        trained = {name: w for name, w in model.named_parameters() if w.requires_grad}
        in_encoder = {n for n, w in trained.items() if n.startswith("encoder.") and w.ndim == 2}
        if not in_encoder:
            raise AccordError(
                "optimiser: muon expects an encoder that trains matrices; it has none"
            )
        matrices = [trained[name] for name in sorted(in_encoder)]
        others = [weight for name, weight in trained.items() if name not in in_encoder]
        groups = [{"params": matrices}, {"params": [*others, *further]}]
        super().__init__(groups, lr=lr, weight_decay=weight_decay, fused=True)

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]  # no closure is ever passed
        groups = self.param_groups
        by_shape = defaultdict(list)
        for matrix in groups[0]["params"]:
            if matrix.grad is not None:
                by_shape[matrix.shape].append(matrix)
        for matrices in by_shape.values():
            self._step(matrices, groups[0]["lr"], groups[0]["weight_decay"])
        self.param_groups = groups[1:]
        super().step()
        self.param_groups = groups

    def _step(self, matrices: list[nn.Parameter], lr: float, weight_decay: float) -> None:
        """Take a step of matrices of one shape."""
        for matrix in matrices:
            if not self.state[matrix]:
                # AdamW expects a step in every loaded state
                zeros = torch.zeros_like(matrix)
                self.state[matrix] = {"step": torch.zeros(()), "momentum_buffer": zeros}
        momenta = [self.state[matrix]["momentum_buffer"] for matrix in matrices]
        gradients = [cast(Tensor, matrix.grad) for matrix in matrices]
        weights: list[Tensor] = [*matrices]
        torch._foreach_lerp_(momenta, gradients, 1 - MOMENTUM)
        nesterov = torch.stack(torch._foreach_lerp(gradients, momenta, MOMENTUM))
        step = lr * RMS_OF_ADAMW * math.sqrt(max(matrices[0].shape))
        directions = orthogonal(nesterov).to(matrices[0].dtype)
        torch._foreach_mul_(weights, 1 - lr * weight_decay)
        torch._foreach_add_(weights, list(directions), alpha=-step)


def orthogonal(matrices: Tensor) -> Tensor:
    """Return nearly U·Vᵀ of each U·S·Vᵀ, by Newton and Schulz: X ← a·X + (b·XXᵀ + c·(XXᵀ)²)·X."""
    if matrices.shape[-2] > matrices.shape[-1]:
        return orthogonal(matrices.mT).mT
    a, b, c = QUINTIC
    x = matrices.bfloat16() if matrices.is_cuda else matrices
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp(min=torch.finfo(torch.float32).eps)
    for _ in range(ROUNDS):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x


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


def optimiser(recipe: Recipe, model: nn.Module, further: Weights = ()) -> Optimizer:
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

    def __init__(
        self, *, warmup: Annotated[float, Range(ge=0), "epochs in which it rises first"] = 0.0
    ):
        super().__init__(decay=1.0)
        self.warmup = warmup

    def rate(self, first: float, done: float, epochs: int) -> float:
        risen = 1.0 if done >= self.warmup else done / self.warmup
        return first * risen * max(0.0, 1 - done / epochs)


class InverseDecay(Plateau):
    """Lowers the learning rate as 1/(1 + epochs done), fractions included."""

    def __init__(self):
        super().__init__(decay=1.0)

    def rate(self, first: float, done: float, epochs: int) -> float:
        return first / (1 + done)
