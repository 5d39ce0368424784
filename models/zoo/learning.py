"""Other ways to learn: a rate per weight (ALAP), a Kalman filter, boosting."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from accord.models.common.batching import Sentences, batches, detached
from accord.models.common.weights import load_weights, parameters_of
from accord.models.network.language_model import LanguageModel
from accord.models.training.optimisers import uncompiled
from accord.models.training.step import prepare
from accord.models.zoo.grow_prune import NextTraining

SLOWEST = 0.5  # of a rate that is left after one step, at least (Almeida et al. 1998)


@uncompiled
class RatePerWeight(Optimizer):
    """ALAP (Almeida, Langlois, Amaral & Plakhov 1998): each weight has a learning rate of its own.

        v_t = γ·v_{t−1} + (1 − γ)·g_t²
        r_t = r_{t−1}·max(½, 1 + q·g_t·g_{t−1} / v_t)
        w_t = w_{t−1} − η·r_t·g_t

    A rate grows while the gradient keeps its sign, and falls when it turns. η is the learning rate
    of the recipe, which schedules may lower, and r begins at 1.
    """

    def __init__(
        self, weights: Iterable[nn.Parameter], lr: float, weight_decay: float, q: float, kept: float
    ):
        super().__init__(weights, {"lr": lr, "weight_decay": weight_decay, "q": q, "kept": kept})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]  # no closure is ever given
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    self._step(weight, weight.grad, group)

    def _step(self, weight: nn.Parameter, grad: Tensor, group: dict[str, Any]) -> None:
        state = self.state[weight]
        if not state:
            state["rate"], state["last"] = torch.ones_like(weight), torch.zeros_like(weight)
            state["square"] = grad.square()
        square = state["square"].mul_(group["kept"]).addcmul_(grad, grad, value=1 - group["kept"])
        turned = grad * state["last"] / square.clamp(min=torch.finfo(grad.dtype).tiny)
        rate = state["rate"].mul_((1 + group["q"] * turned).clamp(min=SLOWEST))
        weight.mul_(1 - group["lr"] * group["weight_decay"])
        weight.addcmul_(rate, grad, value=-group["lr"])
        state["last"].copy_(grad)


def alap(
    model: nn.Module,
    further: Iterable[nn.Parameter],
    lr: float,
    weight_decay: float,
    *,
    q: float = 0.02,
    kept: float = 0.9,
) -> Optimizer:
    """A learning rate for each weight, which grows while its gradient keeps its sign (ALAP)."""
    return RatePerWeight([*model.parameters(), *further], lr, weight_decay, q, kept)


class KalmanFilter:
    """The extended Kalman filter, decoupled by nodes (Puskorius & Feldkamp 1991), of one output.

        A = 1 / (R + Σ_i h_i·P_i·h_i),    K_i = P_i·h_i·A
        w_i ← w_i + K_i·ξ,    P_i ← P_i − K_i·h_iᵀ·P_i + Q

    w_i are the weights into one node, a row of a matrix; P_i is the covariance of their errors,
    h_i the derivative of the output, ξ the target minus the output. Without decoupling P would have
    the square of the number of all weights.
    """

    def __init__(self, weights: Sequence[nn.Parameter], start: float, noise: float, drift: float):
        self.weights, self.noise, self.drift = weights, noise, drift
        self.covariance = [
            start * torch.eye(_nodes(each).shape[1], device=each.device).repeat(len(each), 1, 1)
            for each in weights
        ]

    @torch.no_grad()
    def update(self, derivatives: Sequence[Tensor], innovation: float) -> None:
        """Move the weights after one measurement."""
        rows = [_nodes(each) for each in derivatives]
        both = list(zip(self.covariance, rows, strict=True))
        ahead = [torch.einsum("nij,nj->ni", p, h) for p, h in both]
        variance = self.noise + sum(
            float((h * each).sum()) for h, each in zip(rows, ahead, strict=True)
        )
        for weight, p, each in zip(self.weights, self.covariance, ahead, strict=True):
            weight.add_((each * (innovation / variance)).view_as(weight))
            p.baddbmm_(each.unsqueeze(2), each.unsqueeze(1), alpha=-1 / variance)
            p.diagonal(dim1=1, dim2=2).add_(self.drift)


def _nodes(weight: Tensor) -> Tensor:
    """A row for each node: those of a matrix, or the single numbers of a vector."""
    return weight.unsqueeze(1) if weight.ndim == 1 else weight.flatten(1)


def kalman(
    model: LanguageModel,
    train: Sentences,
    valid: Sentences,
    seed: int,
    say: Callable[[str], None],
    *,
    start: float = 1.0,
    noise: float = 1.0,
    drift: float = 1e-6,
) -> None:
    """Train all weights by an extended Kalman filter: a second-order method for small networks.

    The output of a window is y = √(2ℓ), ℓ being its nats per word, and its target is 0. The best
    weights on validation are kept.
    """
    recipe, began = model.recipe, time.monotonic()
    most = math.inf if recipe.seconds is None else recipe.seconds
    weights = [each for each in model.parameters() if each.requires_grad]
    device = weights[0].device
    state_of = KalmanFilter(weights, start, noise, drift)
    contexts, best, since, lowest = model.contexts(train, training=True), None, 0, math.inf
    for epoch in range(1, recipe.epochs + 1):
        state, total, count = None, 0.0, 0
        for batch in batches(train, recipe, np.random.default_rng([seed, epoch])):
            given = prepare(batch, contexts, device)
            if state is None or not batch.goes_on:
                state = model.encoder.initial_state(given.words.shape[1])
            seen = model.loss(
                given.words, given.targets, state, given.context, given.real, given.extra
            )
            y = (2 * seen.nats).sqrt()
            derivatives = torch.autograd.grad(y, weights, allow_unused=True, materialize_grads=True)
            state_of.update(derivatives, -float(y.detach()))
            state = detached(seen.after)
            total, count = (
                total + float(seen.nats.detach()) * len(given.targets),
                count + len(given.targets),
            )
        nats = -float(model.score(valid).mean())
        say(f"  epoch {epoch}: train {total / count:.3f}, valid {nats:.3f} nats")
        since += 1
        if nats < lowest:
            lowest, best, since = nats, parameters_of(model), 0
        if since >= recipe.patience or time.monotonic() - began >= most:
            break
    if best is None:
        raise FloatingPointError("solver: kalman found no weights with a finite loss")
    load_weights(model, best)


def boost(
    model: LanguageModel, training: NextTraining, out: Path, *, power: float = 1.0, epochs: int = 4
) -> Sentences:
    """Train a network first, and let the next one read more often what the first finds hard.

    A sentence i of ℓ_i nats per word is read w_i times an epoch, on average, with

        w_i = ℓ_i^power / mean of ℓ^power, weighted by words

    After AdaBoost (Freund & Schapire 1997) for networks of sequences. The first network is another
    model; `accord combine` mixes both.
    """
    recipe = training.recipe.unfitted()
    first = replace(recipe, phases={}, epochs=epochs)
    weak = training.build(first)
    training.fit(weak, first, training.train, out)
    text = training.train
    nats = -np.add.reduceat(weak.score(text), text.starts) / text.lengths
    hard = np.maximum(nats, 0) ** power
    return text._replace(weights=hard / np.average(hard, weights=text.lengths))
