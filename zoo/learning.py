"""Other ways to find weights than gradients at one rate.

Without gradients: the output by least squares, the encoder by evolution, a wide network from a
narrow one, the smallest weights set to zero. With them: a rate per weight, a Kalman filter, cascade
correlation, boosting.
"""

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from accord.errors import AccordError, NumericalError
from accord.models.calibration import golden_section
from accord.models.common.checks import expect
from accord.models.common.registry import about
from accord.models.common.schema import Range
from accord.models.common.weights import load_weights, parameters_of
from accord.models.data import Sentences, State, batches, detached
from accord.models.encoder import Encoder, Recurrent, RecurrentLayer
from accord.models.gpu.executor import on_device
from accord.models.inference.torch_model import TorchModel
from accord.models.log_linear import log_linear_of
from accord.models.model import LanguageModel, Seen
from accord.models.optimisers import ADAMW, uncompiled
from accord.models.recipe import Recipe
from accord.models.train import prepare_batch
from accord.pipeline.stages.train import Training

RIDGE = 1e-3  # added to the variance of each unit, as a share of the mean variance
UNSEEN = 5.0  # words in the mean state that each feature is taken to have been seen before
LEAST, MOST, ROUNDS = -5.0, 1.0, 8  # log κ is looked for between these


@torch.inference_mode()
def moments(model: LanguageModel, text: Sentences) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return moments of the states before the words of a text.

    They are the mean (H) and the covariance (H × H), how often each signature occurs (S), and the
    sums of the states before them, less the mean (S × H).
    """
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
    return mean, covariance, times, sums - times.unsqueeze(1) * mean


@torch.no_grad()
def solve(model: LanguageModel, text: Sentences) -> None:
    """Set W and c of the output by ridge regression of φ, the next word's, on the state.

        E[φ_f | h] ≈ E[φ_f] + Cov(φ_f, h)·C⁻¹·(h − h̄),    C the covariance of h, and a little more

    An exponent wants the logarithm of a ratio: divided by E[φ_f], the slope is that of linear
    discriminant analysis, C⁻¹·m_f, m_f being the mean of h − h̄ before words that have f. Before
    b, with its constant,

        a_f = m_f·C⁻¹·(h − h̄) − ½·m_f·C⁻¹·m_f

    For features that are 0 or 1; of a rare one m_f is drawn towards 0.
    """
    output = log_linear_of(model)
    centre, covariance, times, sums = moments(model, text)
    times = output.product.transposed(times.float().unsqueeze(1))
    mean = output.product.transposed(sums.float()) / (times + UNSEEN)
    variance = covariance.diagonal().mean()
    ridge = RIDGE * variance * torch.eye(len(centre), device=mean.device).double()
    slope = torch.linalg.solve(covariance + ridge, mean.double().T).T
    output.weight.copy_(slope)
    output.bias.copy_(-(slope @ centre) - (slope * mean).sum(dim=1) / 2)


def least_squares(model: LanguageModel, train: Sentences, valid: Sentences, seed, say) -> None:
    """Solve for the output's weights; the others stay random.

    The solution is scaled by the κ that suits validation best. Features that go together say the
    same several times over, so that κ is below 1.
    """
    solve(model, train)
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


Generations = Annotated[int, Range(ge=1), "of the evolution"]


def evolve(
    model, train, valid, seed, say=lambda line: None, *, generations: Generations = 20
) -> None:
    """Breed the encoder's weights, then solve for the output's (Schmidhuber et al. 2007).

    An encoder is as fit as its text is likely, once the output is solved for: on sentences of the
    training text that had no part in solving. The fittest live on; each child has half of its
    weights' matrices of one parent and half of another, and steps of Cauchy's distribution, of
    which most are small and some very large.
    """
    generator = torch.Generator().manual_seed(seed)
    # Whole sentences are drawn twice, none in both.
    order = np.random.default_rng(seed).permutation(len(train.lengths))
    enough = np.searchsorted(np.cumsum(train.lengths[order]), MOST_WORDS) + 1
    drawn = order[: max(2, enough)]
    is_drawn = np.zeros((2, len(order)), bool)
    is_drawn[np.arange(len(drawn)) % 2, drawn] = True
    solving, judging = map(train.chosen, is_drawn)
    first = {name: w.detach().clone() for name, w in model.encoder.named_parameters()}
    alive = [(_fitness(model, solving, judging), first)]
    for generation in range(generations):
        step = FIRST_STEP * (LAST_STEP / FIRST_STEP) ** (generation / max(1, generations - 1))
        children = [_child(alive, step, generator) for _ in range(CHILDREN)]
        for child in children:
            model.encoder.load_state_dict(child, strict=False)
            alive.append((_fitness(model, solving, judging), child))
        alive = sorted(alive, key=lambda pair: pair[0])[:PARENTS]
        say(f"  generation {generation + 1}: {alive[0][0]:.3f} nats on sentences held out")
    model.encoder.load_state_dict(alive[0][1], strict=False)
    least_squares(model, train, valid, seed, say)


def _fitness(model: LanguageModel, solving: Sentences, judging: Sentences) -> float:
    solve(model, solving)
    return -float(TorchModel(model).score(judging).mean())


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


def check_growth(recipe: Recipe) -> None:
    """Check that a hidden layer can be widened, and that no other phase trains the weights."""
    times, where = recipe.phases["growth"]["times"], "phases.growth"
    alone = recipe.pretraining == "none"
    expect(where, alone, "no pretraining beside it", recipe.pretraining)
    expect(where, recipe.start is None, "no model to start from", recipe.start)
    is_hidden = recipe.layers > 1 or not recipe.tied
    expect(where, is_hidden, "a hidden layer to widen (layers, tied)", recipe.layers)
    expect(where, recipe.hidden % times == 0, "a divisor of hidden as times", times)


Times = Annotated[int, Range(ge=2), "narrower the hidden layers are at first"]
Epochs = Annotated[int, Range(ge=1), "over the text, at most"]


@about(check="accord.zoo.learning:check_growth")
def grow(
    model: LanguageModel, training: Training, out: Path, *, times: Times = 2, epochs: Epochs = 4
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
        # A matrix fills the corner of a larger one, that of each gate that gate's; the rows that
        # it fills read nothing else.
        blocks = gates.get(id(weights[name]), 1), -1
        small, large = (matrix.unflatten(0, blocks) for matrix in (learned, weights[name]))
        rows = small.shape[1]
        large[:, :rows] = 0
        large[(slice(None), slice(rows), *(slice(size) for size in small.shape[2:]))] = small


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

    def __init__(self, weights: Iterable[nn.Parameter], **settings: float):
        super().__init__(weights, settings)

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


Speed = Annotated[float, Range(ge=0), "how fast the rates change"]
Kept = Annotated[float, Range(ge=0, lt=1), "how much of the mean square is kept"]


def alap(model, further, lr, weight_decay, *, q: Speed = 0.02, kept: Kept = 0.9) -> Optimizer:
    """Learning rates of single weights, which grow while the gradient keeps its sign (ALAP)."""
    settings = {"lr": lr, "weight_decay": weight_decay, "q": q, "kept": kept}
    return RatePerWeight([*model.parameters(), *further], **settings)


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
        self.covariance = []
        for weight in weights:
            identity = torch.eye(_nodes(weight).shape[1], device=weight.device)
            self.covariance.append(start * identity.repeat(len(weight), 1, 1))

    @torch.no_grad()
    def update(self, derivatives: Sequence[Tensor], innovation: float) -> None:
        """Move the weights after one measurement."""
        rows = [_nodes(gain) for gain in derivatives]
        both = list(zip(self.covariance, rows, strict=True))
        ahead = [torch.einsum("nij,nj->ni", p, h) for p, h in both]
        of_state = zip(rows, ahead, strict=True)
        variance = self.noise + sum(float((h * gain).sum()) for h, gain in of_state)
        for weight, p, gain in zip(self.weights, self.covariance, ahead, strict=True):
            weight.add_((gain * (innovation / variance)).view_as(weight))
            p.baddbmm_(gain.unsqueeze(2), gain.unsqueeze(1), alpha=-1 / variance)
            p.diagonal(dim1=1, dim2=2).add_(self.drift)


def _nodes(weight: Tensor) -> Tensor:
    """Return a row for each node: those of a matrix, or the single numbers of a vector."""
    return weight.unsqueeze(1) if weight.ndim == 1 else weight.flatten(1)


def windows(model: LanguageModel, text: Sentences, seed: int, epoch: int) -> Iterator[Seen]:
    """Read the windows of a text in random order, once."""
    contexts, state = model.contexts(text, training=True), None
    for batch in batches(text, model.recipe, np.random.default_rng([seed, epoch])):
        window = on_device(prepare_batch(batch, contexts), next(model.parameters()).device)
        if state is None or not batch.continues:
            state = model.encoder.initial_state(window.words.shape[1])
        read = window.words, window.targets, state, window.context, window.real, window.extra
        seen = model.loss(*read)
        state = detached(seen.state)
        yield seen


Start = Annotated[float, Range(ge=0), "variance of the first weights' errors"]
Noise = Annotated[float, Range(ge=1e-09), "variance of a measurement"]
Drift = Annotated[float, Range(ge=0), "added to the variances at each step"]


def kalman(
    model, train, valid, seed, say, *, start: Start = 1.0, noise: Noise = 1.0, drift: Drift = 1e-6
) -> None:
    """Train all weights by an extended Kalman filter: a second-order method for small networks.

    The output of a window is y = √(2ℓ), ℓ being its nats per word, and its target is 0. The best
    weights on validation are kept.
    """
    recipe, began = model.recipe, time.monotonic()
    most = math.inf if recipe.seconds is None else recipe.seconds
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    state_of = KalmanFilter(weights, start, noise, drift)
    best, since, lowest = None, 0, math.inf
    for epoch in range(1, recipe.epochs + 1):
        total, words = 0.0, 0
        for seen in windows(model, train, seed, epoch):
            y = (2 * seen.nats).sqrt()
            derivatives = torch.autograd.grad(y, weights, allow_unused=True, materialize_grads=True)
            state_of.update(derivatives, -float(y.detach()))
            total += float(seen.nats.detach()) * len(seen.states)
            words += len(seen.states)
        nats = -float(TorchModel(model).score(valid).mean())
        say(f"  epoch {epoch}: train {total / words:.3f}, valid {nats:.3f} nats")
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

    def units(self, inputs: Tensor, start: Tensor) -> Tensor:
        """Return the outputs of all units: (T × B × units)."""
        read = self.read(inputs)
        units: list[Tensor] = []
        for number, back in enumerate(self.back):
            heard = read[..., number]
            for other, weight in zip(units, self.below[number], strict=False):
                heard = heard + weight * other
            units.append(recurrent_unit(heard, back, start[0, :, number]))
        return torch.stack(units, dim=-1)

    def initial_state(self, batch: int) -> State:
        return ((self.back.new_zeros(1, batch, len(self.back)),),)


def recurrent_unit(heard: Tensor, back: Tensor, value: Tensor) -> Tensor:
    """v_t = tanh(heard_t + s·v_{t−1}), of one unit (T × B) or of several side by side."""
    values = []
    for step in heard:
        value = (step + back * value).tanh()
        values.append(value)
    return torch.stack(values)


def correlation(values: Tensor, residuals: Tensor) -> Tensor:
    """S_k = Σ_o |Σ_n (v_nk − v̄_k)·(E_no − Ē_o)| of candidates (N × K) and errors (N × O): (K)."""
    centred = values - values.mean(dim=0)
    return (centred.T @ (residuals - residuals.mean(dim=0))).abs().sum(dim=1)


Candidates = Annotated[int, Range(ge=1), "units that are tried for each that is added"]
Steps = Annotated[int, Range(ge=1), "of training between two units"]


def cascade(
    model, train, valid, seed, say, *, candidates: Candidates = 8, steps: Steps = 100
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
        for weight in of_units:
            weight.zero_()
    fixed = {id(weight) for weight in of_units}
    others = [w for w in model.parameters() if w.requires_grad and id(w) not in fixed]
    reader = chain.from_iterable(windows(model, train, seed, epoch) for epoch in count(1))
    generator = torch.Generator().manual_seed(seed)
    best, lowest = parameters_of(model), math.inf
    for number in range(len(encoder.back) + 1):
        optimiser = ADAMW(others, lr=recipe.learning_rate, weight_decay=recipe.weight_decay)
        for _ in range(steps):
            optimiser.zero_grad()
            next(reader).nats.backward()
            nn.utils.clip_grad_norm_(others, recipe.max_grad_norm)
            optimiser.step()
        nats = -float(TorchModel(model).score(valid).mean())
        say(f"  {number} units: {nats:.3f} nats on validation")
        if nats < lowest:
            best, lowest = parameters_of(model), nats
        if number == len(encoder.back) or time.monotonic() - began >= most:
            break
        _add_unit(encoder, number, reader, candidates, steps, recipe.learning_rate, generator)
    load_weights(model, best)


def _add_unit(encoder, number: int, reader: Iterator[Seen], tried: int, steps, rate, generator):
    """Train candidates for a unit and keep the one with the greatest correlation."""
    inputs, device = encoder.read.in_features, encoder.back.device
    size = inputs + number + 2  # the words, the units before, itself, a constant
    drawn = torch.randn(size, tried, generator=generator) * size**-0.5
    weight = nn.Parameter(drawn.to(device))
    optimiser = ADAMW([weight], lr=rate, weight_decay=0.0)
    total, calls = torch.zeros(tried, device=device), []
    hook = encoder.register_forward_hook(lambda encoder, read, made: calls.append(read))
    for _ in range(steps):
        seen = next(reader)
        (errors,) = torch.autograd.grad(seen.nats, seen.h)
        read, ((state,),) = calls.pop()
        with torch.no_grad():
            read, units = read.detach(), encoder.units(read, state)[..., :number]
        heard = torch.cat([read, units], dim=-1) @ weight[: inputs + number] + weight[-1]
        start = heard.new_zeros(heard.shape[1:])
        values = recurrent_unit(heard, weight[-2].tanh(), start).flatten(0, 1)
        scores = correlation(values, errors.flatten(0, 1)) / errors.norm()
        optimiser.zero_grad()
        (-scores.sum()).backward()
        optimiser.step()
        total = 0.9 * total + scores.detach()
    hook.remove()
    chosen = weight.detach()[:, int(total.argmax())]
    with torch.no_grad():
        encoder.read.weight[number] = chosen[:inputs]
        encoder.below[number, :number] = chosen[inputs : inputs + number]
        encoder.back[number], encoder.read.bias[number] = chosen[-2].tanh(), chosen[-1]


Power = Annotated[float, Range(ge=0), "of a sentence's nats per word, by which it is read"]


def boost(
    model: LanguageModel, training: Training, out: Path, *, power: Power = 1.0, epochs: Epochs = 4
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
