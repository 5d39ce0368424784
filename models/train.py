"""Training by gradients: epochs, steps, validation, early stopping, checkpoints.

A training leaves the weights of its best epoch in its folder. An interrupted training resumes from
its newest checkpoint and ends with the same weights: on a CPU to the last bit, if the number of
threads is the same.
"""

import csv
import hashlib
import io
import json
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import astuple, dataclass, field, fields, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from accord.errors import AccordError
from accord.models.calibration import fit_calibration, fit_temperature
from accord.models.common.files import CURVE, PARTIAL, WEIGHTS, remove, write_whole
from accord.models.common.weights import (
    be_deterministic,
    choose_device,
    freed_memory_kept,
    has_bfloat16,
    load_weights,
    parameters_of,
    save_tensors,
)
from accord.models.data import (
    NO_WORD,
    Batch,
    Packed,
    Prepared,
    Sentences,
    State,
    batches,
    detached,
)
from accord.models.gpu.executor import Executor
from accord.models.gpu.processes import from_first
from accord.models.inference.torch_model import TorchModel
from accord.models.model import LanguageModel
from accord.models.optimisers import optimiser
from accord.models.parts import SCHEDULES
from accord.models.recipe import Recipe
from accord.models.regularisers import LossTerm, apply_terms, regularisers

CHECK_STEPS = 50  # between two looks at the losses, for each of which a GPU must finish its work
CHECKPOINTS = 2  # kept: if the newer one is damaged, the other serves
VALUES = "values"  # the tensor of a checkpoint that holds all other values, as JSON
STEPS = "steps.csv"
COUNTS = ("without_gain", "step", "words", "seconds")  # of a training state
HEADER = "epoch,step,nats,gradient_norm,learning_rate\n"


@dataclass(frozen=True)
class Epoch:
    """A row of the loss curve; losses in nats per word, sentence ends included.

    The training loss is that of the text with dropout, without penalties and teachers. For an
    output that samples it is the sampled loss, not −log p.
    """

    epoch: Annotated[int, "from 1; 0 is the initial checkpoint, if there is one"]
    train_nats: Annotated[float, "mean loss on the training text, with dropout"]
    valid_nats: Annotated[float, "loss on validation text, without the spelling of unknown words"]
    learning_rate: Annotated[float, "in this epoch"]
    seconds: Annotated[float, "duration of the epoch"]
    words_per_second: Annotated[float, "in training"]


def write_curve(curve: Sequence[Epoch], path: Path) -> None:
    """Write a loss curve as CSV."""
    text = io.StringIO(newline="")
    names = [column.name for column in fields(Epoch)]
    csv.writer(text).writerows([names, *map(astuple, curve)])
    write_whole(path, text.getvalue().encode())


class Trainer:
    """The optimiser trains all weights, or resumes the training that the folder holds.

    `terms` are added to the loss, before those of the recipe. Of several processes that train one
    model, the first writes; its checkpoints do not depend on their number.
    """

    def __init__(
        self,
        model: LanguageModel,
        recipe: Recipe,
        folder: Path,
        on_step: Callable[[int], None] = lambda words: None,
        on_epoch: Callable[[Epoch], None] = lambda epoch: None,
        say: Callable[[str], None] = lambda line: None,
        terms: Sequence[LossTerm] = (),
    ):
        self.device = choose_device(recipe.device)
        self.model, self.recipe, self.folder = model.to(self.device), recipe, folder
        self.on_step, self.on_epoch, self.say = on_step, on_epoch, say
        named = {type(term).__name__.lower(): term for term in terms}
        named |= regularisers(recipe, model)
        self.terms = nn.ModuleDict(named).to(self.device)
        self.term_list = [*named.values()]
        self.schedule = SCHEDULES.make(recipe.schedule)
        self.in_bfloat16 = recipe.precision == "bfloat16" and has_bfloat16(self.device)
        self.state = TrainingState(
            model,
            self.terms,
            optimiser(recipe, model, self.terms.parameters()),
            WeightAverage(model, recipe.ema) if recipe.ema else None,
            nats=torch.zeros((), device=self.device),
        )
        parameters = self.state.parameters()
        self.executor = Executor(
            self._gradients, model, recipe, parameters, self.device, bool(self.term_list)
        )
        self.log = StepLog(folder / STEPS, self.executor.is_first)
        self.checkpoints = Checkpoints(folder)
        self.saved = time.monotonic()

    @property
    def curve(self) -> list[Epoch]:
        return self.state.curve

    def fit(self, train: Sentences, valid: Sentences, validates_first: bool = False) -> None:
        """Train until validation stops improving; load and save the best weights.

        `validates_first` validates the weights before the first step, as epoch 0. So an initial
        checkpoint never becomes worse.
        """
        if not self.executor.mean(self.executor.is_first and (self.folder / CURVE).exists()):
            self._fit(train, valid, validates_first)
        weights = (self.folder / WEIGHTS).read_bytes() if self.executor.is_first else None
        load_weights(self.model, load(from_first(weights)))
        if self.executor.is_first:
            self.checkpoints.clear()

    def _fit(self, train: Sentences, valid: Sentences, validates_first: bool) -> None:
        """Train, and write the best weights and then the curve: the mark that all is done."""
        be_deterministic(self.recipe.deterministic)
        self._resume()
        if self.recipe.precision == "bfloat16" and not self.in_bfloat16:
            self.say("precision: float32, as products in bfloat16 are slow on this processor")
        if validates_first and not self.curve:
            self.on_epoch(self._close_epoch(valid, 0))
        prepare = partial(
            prepare_batch,
            contexts=self.model.contexts(train, training=True),
            extra=self.model.conditioned(train).extra,
            terms=self.term_list,
        )
        for term in self.term_list:
            term.prepare(self.model, train, valid)
        with freed_memory_kept():
            while not self._is_done():
                self._train_epoch(train, prepare)
                row = self._close_epoch(valid, self.state.epoch)
                self._save()
                self.on_epoch(row)  # an epoch that is reported is kept
        self.executor.close()
        if self.executor.is_first:
            self._save_best(valid)
            write_curve(self.curve, self.folder / CURVE)

    def _is_done(self) -> bool:
        seconds = sum(row.seconds for row in self.curve)
        is_late = self.recipe.seconds is not None and seconds >= self.recipe.seconds
        is_over = is_late or self.state.epoch > self.recipe.epochs
        return is_over or self.state.without_gain >= self.recipe.patience

    def _train_epoch(self, train: Sentences, prepare: Callable[[Batch], Prepared]) -> None:
        """Train over the text once, or over the rest of it after a checkpoint."""
        state = self.state
        if not state.step:
            torch.manual_seed(self.recipe.seed * 10_000 + state.epoch)
        self.model.train()
        start = time.monotonic() - state.seconds
        epoch_words = train.epoch_words  # of all documents: too slow to add up at every step
        batches = islice(self._batches(train), state.step, None)
        for batch in self.executor.prepared(batches, prepare):
            self._step(batch, epoch_words)
            self.on_step(batch.word_count)
            state.seconds = time.monotonic() - start
            is_due = self._is_due()
            if is_due or state.step % CHECK_STEPS == 0:
                self._check_losses(train)
            if is_due:
                self._save()
        self._check_losses(train)
        state.seconds = time.monotonic() - start

    def _batches(self, train: Sentences) -> Iterator[Batch]:
        """Return the batches of the current epoch, drawn from the seed and its number."""
        generator = np.random.default_rng([self.recipe.seed, self.state.epoch])
        return batches(train, self.recipe, generator)

    def _step(self, batch: Prepared, epoch_words: float) -> None:
        """Take one step of the optimiser."""
        state = self.state
        epochs = state.epoch - 1 + state.words / epoch_words
        rate = self.schedule.rate(self.recipe.learning_rate, epochs, self.recipe.epochs)
        if rate is not None:
            state.set_learning_rate(rate)
        nats, state.encoder = self.executor.step(batch, self._initial(batch))
        norm = nn.utils.clip_grad_norm_(state.parameters(), self.recipe.max_grad_norm)
        state.optimiser.step()
        if state.average:
            state.average.update(self.model)
        self.log.steps.append((nats, norm, state.learning_rate))
        state.nats = state.nats + nats * batch.word_count
        state.step, state.words = state.step + 1, state.words + batch.word_count

    def _initial(self, batch: Prepared) -> State | Packed:
        """Return the state before a batch: the one it continues from, or the zero state."""
        state, share = self.state.encoder, self.recipe.zero_state
        if batch.packed:
            return batch.packed
        if not batch.continues or (share and torch.rand(()).item() < share) or state is None:
            return self.model.encoder.initial_state(batch.words.shape[1])
        return state

    def _gradients(self, batch: Prepared, initial: State | Packed) -> tuple[Tensor, State]:
        """Fill the gradients; return the nats per word of a batch and the state after it."""
        self.state.optimiser.zero_grad(set_to_none=not self.executor.keeps_gradients)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.in_bfloat16):
            first = self.model.begin(batch.targets, batch.context)
            inputs = batch.words, batch.targets, initial, batch.context, batch.real, batch.extra
            run = partial(self.model.loss, *inputs, first)
            loss, seen = apply_terms(run, self.term_list, batch.of_terms)
        loss.backward()
        return seen.nats.detach(), detached(seen.state)

    def _close_epoch(self, valid: Sentences, epoch: int) -> Epoch:
        """Validate; keep the best weights; return the row of the loss curve.

        An epoch without gain lowers the learning rate. Epoch 0 is an initial checkpoint; its
        weights are the best so far.
        """
        state = self.state
        best = min((row.valid_nats for row in self.curve), default=math.inf)
        with state.average.applied(self.model) if state.average else nullcontext():
            log_p = self.executor.sum_over(valid, TorchModel(self.model).score)
            valid_nats = -log_p / len(valid.ids)
            if not math.isfinite(valid_nats):
                raise self._failure(f"the validation loss of epoch {epoch} is {valid_nats}")
            if valid_nats < best:
                state.best = parameters_of(self.model)
        train_nats, speed, seconds = math.nan, math.nan, self.executor.mean(state.seconds)
        if epoch:
            train_nats, speed = float(state.nats) / state.words, state.words / seconds
        rate = state.learning_rate
        row = Epoch(epoch, train_nats, valid_nats, rate, round(seconds, 3), speed)
        state.close_epoch(row)
        if valid_nats < best - self.recipe.min_delta:
            state.without_gain = 0
        else:
            state.without_gain += 1
            state.set_learning_rate(self.schedule.without_gain(rate))
        return row

    def _save_best(self, valid: Sentences) -> None:
        """Write the best weights, with the temperature and the calibration that suit them."""
        load_weights(self.model, self.state.best)
        if "temperature" in self.recipe.fitted:
            fit_temperature(self.model, valid)
        if "calibration" in self.recipe.fitted:
            fit_calibration(self.model, valid)
        save_tensors(parameters_of(self.model), self.folder / WEIGHTS)

    def _is_due(self) -> bool:
        """Return whether it is time for a checkpoint, by steps or by seconds."""
        steps, seconds = self.recipe.checkpoint_steps, self.recipe.checkpoint_seconds
        if steps and self.state.step % steps == 0:
            return True
        if self.state.step % self.executor.agreement_steps:
            return False
        return bool(self.executor.mean(0 < seconds < time.monotonic() - self.saved))

    def _save(self) -> None:
        """Write a checkpoint; an error if a weight is not finite."""
        state = self.state
        if not all(bool(weight.isfinite().all()) for weight in state.parameters()):
            raise self._failure(
                f"a weight is not finite after epoch {state.epoch}, step {state.step}"
            )
        if state.encoder:
            state = replace(state, encoder=self.executor.gather(state.encoder))
        if self.executor.is_first:
            tensors, values = state.pack()
            values |= {"logged": self.log.path.stat().st_size, "recipe": self.recipe.identity()}
            self.checkpoints.write(state.epoch, state.step, tensors, values)
        self.saved = time.monotonic()

    def _resume(self) -> None:
        """Resume from the newest checkpoint, if there is one."""
        state, logged = self.state, 0
        newest = self.checkpoints.newest(self.say) if self.executor.is_first else None
        if content := from_first(newest):
            tensors = load(content)
            values = json.loads(tensors.pop(VALUES).numpy().tobytes())
            for key, value in self.recipe.identity().items():
                if values["recipe"].get(key) != value:  # no recipe would describe the result
                    raise AccordError(
                        f"{self.folder} has a training with {key} {values['recipe'].get(key)!r}, "
                        f"which cannot go on with {value!r}; remove its checkpoints to start anew"
                    )
            state.unpack(tensors, values)
            if state.encoder:
                state.encoder = self.executor.scatter(state.encoder)
            logged = values["logged"]
            self.say(f"goes on from epoch {state.epoch}, step {state.step}")
        self.log.cut(logged)

    def _check_losses(self, train: Sentences) -> None:
        """Log the last steps; an error if the loss or the gradient of one is not finite."""
        state = self.state
        step = self.log.flush(state.epoch, state.step)
        if step is None:
            return
        batch = next(islice(self._batches(train), step - 1, None))
        sentences = np.searchsorted(train.starts, batch.positions[0], side="right")
        numbers = ", ".join(map(str, sentences[:5])) + (" …" if len(sentences) > 5 else "")
        raise self._failure(
            f"the loss or its gradient is not finite at epoch {state.epoch}, step {step}, whose "
            f"columns begin in sentences {numbers} of the training text ({self.log.path})"
        )

    def _failure(self, reason: str) -> FloatingPointError:
        files = self.checkpoints.files()
        last = f"the last good checkpoint is {files[-1]}" if files else "no checkpoint was written"
        return FloatingPointError(f"{reason}; {last}")


def prepare_batch(
    batch: Batch,
    contexts: np.ndarray,
    extra: Mapping[str, np.ndarray] | None = None,
    terms: Sequence[LossTerm] = (),
) -> Prepared:
    """Return the tensors of a batch: targets that are words, their contexts, data of the terms."""
    is_word = batch.targets != NO_WORD
    positions = batch.positions[is_word.numpy()]
    return Prepared(
        batch.words,
        batch.targets[is_word],
        torch.from_numpy(contexts[positions]),
        None if is_word.all() else is_word.flatten().nonzero().squeeze(1),
        {name: torch.from_numpy(x[batch.positions]) for name, x in (extra or {}).items()},
        tuple(tuple(term.of_batch(positions)) for term in terms),
        batch.continues,
        len(positions),
        batch.words.shape[1],
        batch.packed,
    )


class StepLog:
    """Loss and gradient norm of every step; they stay on the device until they are flushed."""

    def __init__(self, path: Path, writes: bool):
        self.path, self.writes = path, writes
        self.steps: list[tuple[Tensor, Tensor, float]] = []

    def cut(self, size: int) -> None:
        """Remove the steps after a checkpoint, which are taken again."""
        if self.writes:
            with self.path.open("ab") as file:
                file.truncate(min(size, file.tell()))

    def flush(self, epoch: int, last: int) -> int | None:
        """Write the steps up to the last one; return the first that is not finite."""
        if not self.steps:
            return None
        losses, norms, rates = zip(*self.steps, strict=True)
        self.steps = []
        values = torch.stack([torch.stack(losses), torch.stack(norms)], dim=1).cpu()
        first = last - len(values) + 1
        if self.writes:
            with self.path.open("a", encoding="utf-8") as file:
                file.write("" if file.tell() else HEADER)
                for step, (loss, norm) in enumerate(values.tolist()):
                    row = f"{loss:.8g},{norm:.8g},{rates[step]:.8g}"
                    file.write(f"{epoch},{first + step},{row}\n")
        wrong = (~values.isfinite().all(dim=1)).nonzero()
        return first + int(wrong[0]) if len(wrong) else None


class WeightAverage:
    """The mean of a model's parameters over the updates so far.

    The first updates have equal weights (Polyak & Juditsky 1992, the averaged SGD of AWD-LSTM).
    Once there are more than 1 / (1 − decay) of them, their weights fall as decay^age.
    """

    def __init__(self, model: nn.Module, decay: float):
        self.decay = decay
        self.updates = 0
        self.mean = parameters_of(model)

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        self.updates += 1
        share = max(1 / self.updates, 1 - self.decay)
        torch._foreach_lerp_(list(self.mean.values()), list(model.parameters()), share)

    @contextmanager
    def applied(self, model: nn.Module) -> Iterator[None]:
        """Give the model its averaged weights, and its own again afterwards."""
        weights = parameters_of(model)
        load_weights(model, self.mean)
        try:
            yield
        finally:
            load_weights(model, weights)

    def state_dict(self) -> dict[str, Tensor]:
        return {"updates": torch.tensor(self.updates), **self.mean}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.updates = int(state["updates"])
        for name, value in self.mean.items():
            value.copy_(state[name])


@dataclass
class TrainingState:
    """All that changes from step to step, and that a checkpoint therefore holds."""

    model: nn.Module
    terms: nn.ModuleDict  # of the loss; some have parameters
    optimiser: torch.optim.Optimizer
    average: WeightAverage | None
    best: dict[str, Tensor] = field(default_factory=dict)  # the weights of the best epoch so far
    curve: list[Epoch] = field(default_factory=list)
    without_gain: int = 0  # epochs since the last gain in validation

    # Of the current epoch:
    step: int = 0  # steps done
    words: int = 0  # words read
    seconds: float = 0.0
    nats: Tensor = field(default_factory=lambda: torch.zeros(()))  # of all words read
    encoder: State | None = None  # the state before the next batch

    @property
    def epoch(self) -> int:
        return self.curve[-1].epoch + 1 if self.curve else 1

    @property
    def learning_rate(self) -> float:
        return self.optimiser.param_groups[0]["lr"]

    def set_learning_rate(self, rate: float) -> None:
        for group in self.optimiser.param_groups:
            group["lr"] = rate

    def parameters(self) -> list[nn.Parameter]:
        """Return all trained parameters, those of the model first."""
        return [*self.model.parameters(), *self.terms.parameters()]

    def close_epoch(self, row: Epoch) -> None:
        self.curve.append(row)
        self.step, self.words, self.seconds = 0, 0, 0.0
        self.nats, self.encoder = torch.zeros_like(self.nats), None

    def pack(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return everything as named tensors and as values that JSON can hold."""
        optimiser = self.optimiser.state_dict()
        random = {"cpu": torch.get_rng_state()}
        if self.nats.is_cuda:
            random["cuda"] = torch.cuda.get_rng_state(self.nats.device)
        parts = {
            "model": parameters_of(self.model),
            "terms": parameters_of(self.terms),
            "best": self.best,
            "average": self.average.state_dict() if self.average else {},
            "random": random,
            "optimiser": _joined(optimiser["state"]),
            "encoder": _joined({n: dict(enumerate(x)) for n, x in enumerate(self.encoder or ())}),
            "epoch": {"nats": self.nats},
        }
        values = {name: getattr(self, name) for name in COUNTS}
        curve = [vars(row) for row in self.curve]
        return _joined(parts), values | {"curve": curve, "groups": optimiser["param_groups"]}

    def unpack(self, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
        """Restore the state that `pack` returned."""
        device, parts = self.nats.device, _split(tensors)
        load_weights(self.model, parts["model"])
        load_weights(self.terms, parts["terms"])
        if self.average:
            self.average.load_state_dict(parts["average"])
        state = {int(index): named for index, named in _split(parts["optimiser"]).items()}
        self.optimiser.load_state_dict({"state": state, "param_groups": values["groups"]})
        self.best = {name: value.to(device) for name, value in parts["best"].items()}
        self.curve = [Epoch(**row) for row in values["curve"]]
        for name in COUNTS:
            setattr(self, name, values[name])
        self.nats = parts["epoch"]["nats"].to(device)
        layers = _in_order(_split(parts["encoder"]))
        self.encoder = tuple(tuple(x.to(device) for x in _in_order(layer)) for layer in layers)
        torch.set_rng_state(parts["random"]["cpu"])
        if device.type == "cuda" and "cuda" in parts["random"]:
            torch.cuda.set_rng_state(parts["random"]["cuda"], device)


def _joined(groups: Mapping[Any, Mapping[Any, Tensor]]) -> dict[str, Tensor]:
    """Return the tensors of all groups by `group/name`."""
    return {f"{group}/{name}": x for group, named in groups.items() for name, x in named.items()}


def _split(tensors: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    """Return the groups that were joined; a missing group is empty."""
    groups: dict[str, dict[str, Tensor]] = defaultdict(dict)
    for key, tensor in tensors.items():
        group, _, name = key.partition("/")
        groups[group][name] = tensor
    return groups


def _in_order(numbered: Mapping[str, Any]) -> list[Any]:
    return [numbered[key] for key in sorted(numbered, key=int)]


class Checkpoints:
    """The newest checkpoints of one training, in its folder. Nothing in them is pickled.

    A file's name has the epoch, the steps done in it and the hash of the content, which reveals
    damage before the checkpoint is used.
    """

    def __init__(self, folder: Path):
        self.folder = folder

    def files(self) -> list[Path]:
        """Return the files, the oldest first."""
        return sorted(self.folder.glob("checkpoint-*.safetensors"))

    def write(self, epoch: int, step: int, tensors: dict[str, Tensor], values: Any) -> None:
        text = torch.frombuffer(bytearray(json.dumps(values).encode()), dtype=torch.uint8)
        content = save({name: x.contiguous() for name, x in tensors.items()} | {VALUES: text})
        name = f"checkpoint-{epoch:05}-{step:08}-{_digest(content)}.safetensors"
        write_whole(self.folder / name, content)
        for old in self.files()[:-CHECKPOINTS]:
            old.unlink()

    def newest(self, say: Callable[[str], None]) -> bytes | None:
        """Return the content of the newest whole checkpoint; report and remove damaged ones.

        They are removed because later checkpoints would sort before them.
        """
        for path in reversed(self.files()):
            content = path.read_bytes()
            if path.stem.endswith(_digest(content)):
                return content
            path.unlink()
            say(f"{path} was damaged and is removed; the checkpoint before it is used")
        return None

    def clear(self) -> None:
        """Remove all checkpoints, and the leftovers of killed writers."""
        for path in (*self.files(), *self.folder.glob(PARTIAL)):
            remove(path)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
