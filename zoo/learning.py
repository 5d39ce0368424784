"""Other ways to learn: a rate per weight, a Kalman filter, cascade correlation, boosting."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from accord.errors import AccordError, NumericalError
from accord.models.common.schema import Range
from accord.models.common.weights import load_weights, parameters_of
from accord.models.data import Batch, Sentences, State, batches, detached
from accord.models.encoder import Encoder
from accord.models.gpu.executor import on_device
from accord.models.inference.torch_model import TorchModel
from accord.models.model import LanguageModel, Seen
from accord.models.optimisers import ADAMW, uncompiled
from accord.models.train import prepare_batch
from accord.zoo.gradient_free import NextTraining

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
    q: Annotated[float, Range(ge=0), "how fast the rates change"] = 0.02,
    kept: Annotated[float, Range(ge=0, lt=1), "how much of the mean square is kept"] = 0.9,
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
    start: Annotated[float, Range(ge=0), "variance of the first weights' errors"] = 1.0,
    noise: Annotated[float, Range(ge=1e-09), "variance of a measurement"] = 1.0,
    drift: Annotated[float, Range(ge=0), "added to the variances at each step"] = 1e-6,
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
            given = on_device(prepare_batch(batch, contexts), device)
            if state is None or not batch.continues:
                state = model.encoder.initial_state(given.words.shape[1])
            seen = model.loss(
                given.words, given.targets, state, given.context, given.real, given.extra
            )
            y = (2 * seen.nats).sqrt()
            derivatives = torch.autograd.grad(y, weights, allow_unused=True, materialize_grads=True)
            state_of.update(derivatives, -float(y.detach()))
            state = detached(seen.after)
            total += float(seen.nats.detach()) * len(given.targets)
            count += len(given.targets)
        nats = -float(TorchModel(model).score(valid).mean())
        say(f"  epoch {epoch}: train {total / count:.3f}, valid {nats:.3f} nats")
        since += 1
        if nats < lowest:
            lowest, best, since = nats, parameters_of(model), 0
        if since >= recipe.patience or time.monotonic() - began >= most:
            break
    if best is None:
        raise NumericalError("solver: kalman found no weights with a finite loss")
    load_weights(model, best)


class CascadeUnits(Encoder):
    """Units in a cascade, each of which reads the words, the units before it, and itself.

        v^i_t = tanh(w^i·ψ_t + Σ_{j<i} u^i_j·v^j_t + s^i·v^i_{t−1} + c^i),    h_t = V·[ψ_t; v_t]

    The network of recurrent cascade correlation (Fahlman 1991). `hidden` is the number of units. A
    unit whose weights are 0 says nothing.
    """

    def __init__(self, inputs: int, hidden: int, outputs: int, layers: int, dropout: float = 0.0):
        super().__init__()
        self.read = nn.Linear(inputs, hidden)
        self.below = nn.Parameter(torch.randn(hidden, hidden) * hidden**-0.5)  # of j < i alone
        self.back = nn.Parameter(torch.rand(hidden))
        self.out = nn.Linear(inputs + hidden, outputs)

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        units = self.units(inputs, state[0][0])
        return self.out(torch.cat([inputs, units], dim=-1)), ((units[-1:],),)

    def units(self, inputs: Tensor, before: Tensor) -> Tensor:
        """The outputs of all units: (T × B × units)."""
        read = self.read(inputs)
        found: list[Tensor] = []
        for number, back in enumerate(self.back):
            heard = read[..., number]
            for other, weight in zip(found, self.below[number], strict=False):
                heard = heard + weight * other
            found.append(recurrent_unit(heard, back, before[0, :, number]))
        return torch.stack(found, dim=-1)

    def initial_state(self, batch: int) -> State:
        return ((self.back.new_zeros(1, batch, len(self.back)),),)


def recurrent_unit(heard: Tensor, back: Tensor, before: Tensor) -> Tensor:
    """v_t = tanh(heard_t + s·v_{t−1}), of one unit (T × B) or of several side by side."""
    found = []
    for step in heard:
        before = (step + back * before).tanh()
        found.append(before)
    return torch.stack(found)


def correlation(values: Tensor, residuals: Tensor) -> Tensor:
    """S_k = Σ_o |Σ_n (v_nk − v̄_k)·(E_no − Ē_o)| of candidates (N × K) and errors (N × O): (K)."""
    centred = values - values.mean(dim=0)
    return (centred.T @ (residuals - residuals.mean(dim=0))).abs().sum(dim=1)


def cascade(
    model: LanguageModel,
    train: Sentences,
    valid: Sentences,
    seed: int,
    say: Callable[[str], None],
    *,
    candidates: Annotated[int, Range(ge=1), "units that are tried for each that is added"] = 8,
    steps: Annotated[int, Range(ge=1), "of training between two units"] = 100,
) -> None:
    """Add units one by one, each frozen when it is in (Fahlman & Lebiere 1990).

    First all other weights are trained for some steps. Then candidates for the next unit learn to
    go with the errors that are left, E_t = ∂ℓ/∂h_t: they climb S. The best one becomes a unit, and
    the others are trained again. The best weights on validation are kept.
    """
    encoder, recipe, began = model.encoder, model.recipe, time.monotonic()
    if not isinstance(encoder, CascadeUnits):
        raise AccordError(f"solver: cascade expects encoder: cascade, got {recipe.encoder}")
    most = math.inf if recipe.seconds is None else recipe.seconds
    of_units = [*encoder.read.parameters(), encoder.below, encoder.back]
    with torch.no_grad():
        for each in of_units:
            each.zero_()
    fixed = {id(each) for each in of_units}
    others = [each for each in model.parameters() if id(each) not in fixed and each.requires_grad]
    reader = _WindowReader(model, train, seed)
    generator = torch.Generator().manual_seed(seed)
    best, lowest = parameters_of(model), math.inf
    for number in range(len(encoder.back) + 1):
        optimiser = ADAMW(others, lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
        for _ in range(steps):
            optimiser.zero_grad()
            reader.next().nats.backward()
            nn.utils.clip_grad_norm_(others, recipe.max_grad_norm)
            optimiser.step()
        nats = -float(TorchModel(model).score(valid).mean())
        say(f"  {number} units: {nats:.3f} nats on validation")
        if nats < lowest:
            best, lowest = parameters_of(model), nats
        if number == len(encoder.back) or time.monotonic() - began >= most:
            break
        _add_unit(encoder, number, reader, candidates, steps, recipe.learning_rate, generator)
    reader.hook.remove()
    load_weights(model, best)


class _WindowReader:
    """The windows of a text without end, in random order; what the encoder read is kept."""

    def __init__(self, model: LanguageModel, text: Sentences, seed: int):
        self.model, self.text, self.seed, self.epoch = model, text, seed, 0
        self.contexts = model.contexts(text, training=True)
        self.batches: Iterator[Batch] = iter(())
        self.state: State | None = None
        self.read, self.before = torch.empty(0), torch.empty(0)
        self.hook = model.encoder.register_forward_hook(self._keep)

    def _keep(self, encoder: nn.Module, given: Any, made: Any) -> None:
        self.read, self.before = given[0].detach(), given[1][0][0].detach()

    def next(self) -> Seen:
        """A forward pass over the next window."""
        batch = next(self.batches, None)
        if batch is None:
            self.epoch += 1
            draws = np.random.default_rng([self.seed, self.epoch])
            self.batches = iter(batches(self.text, self.model.recipe, draws))
            batch = next(self.batches)
        given = on_device(prepare_batch(batch, self.contexts), self.model.embedding.weight.device)
        if self.state is None or not batch.continues:
            self.state = self.model.encoder.initial_state(given.words.shape[1])
        seen = self.model.loss(
            given.words, given.targets, self.state, given.context, given.real, given.extra
        )
        self.state = detached(seen.after)
        return seen


def _add_unit(
    encoder: CascadeUnits,
    number: int,
    reader: _WindowReader,
    candidates: int,
    steps: int,
    rate: float,
    generator: torch.Generator,
) -> None:
    """Train candidates for a unit and keep the one with the greatest correlation."""
    inputs, device = encoder.read.in_features, encoder.back.device
    size = inputs + number + 2  # the words, the units before, itself, a constant
    drawn = torch.randn(size, candidates, generator=generator) * size**-0.5
    weight = nn.Parameter(drawn.to(device))
    optimiser = ADAMW([weight], lr=rate, weight_decay=0.0)
    total = torch.zeros(candidates, device=device)
    for _ in range(steps):
        seen = reader.next()
        (errors,) = torch.autograd.grad(seen.nats, seen.h)
        with torch.no_grad():
            units = encoder.units(reader.read, reader.before)[..., :number]
        heard = torch.cat([reader.read, units], dim=-1) @ weight[: inputs + number] + weight[-1]
        start = heard.new_zeros(heard.shape[1:])
        values = recurrent_unit(heard, weight[-2].tanh(), start).flatten(0, 1)
        found = correlation(values, errors.flatten(0, 1)) / errors.norm()
        optimiser.zero_grad()
        (-found.sum()).backward()
        optimiser.step()
        total = 0.9 * total + found.detach()
    chosen = weight.detach()[:, int(total.argmax())]
    with torch.no_grad():
        encoder.read.weight[number] = chosen[:inputs]
        encoder.below[number, :number] = chosen[inputs : inputs + number]
        encoder.back[number], encoder.read.bias[number] = chosen[-2].tanh(), chosen[-1]


def boost(
    model: LanguageModel,
    training: NextTraining,
    out: Path,
    *,
    power: Annotated[
        float, Range(ge=0), "of a sentence's nats per word, by which it is read"
    ] = 1.0,
    epochs: Annotated[int, Range(ge=1), "over the text, at most"] = 4,
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
    nats = -np.add.reduceat(TorchModel(weak).score(text), text.starts) / text.lengths
    hard = np.maximum(nats, 0) ** power
    return text._replace(weights=hard / np.average(hard, weights=text.lengths))
