"""A training step: a batch is prepared, read, and the weights move.

A step of a large model is some thousand kernels, each of which takes longer to launch than to run.
A CUDA graph launches all of them at once, but for one shape of its inputs: each shape is computed
as usual when it is first met, recorded when it is met again, and replayed from then on.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from accord.models.background import Background
from accord.models.checkpoint import TrainingState
from accord.models.common.device import has_bfloat16
from accord.models.data import (
    NO_WORD,
    Batch,
    DrawsForColumns,
    Sentences,
    State,
    batches,
    detached,
)
from accord.models.encoder import Recurrent
from accord.models.gpu import processes
from accord.models.log_linear import log_linear_of
from accord.models.model import LanguageModel, Seen
from accord.models.recipe import Recipe
from accord.models.regularisers import LossTerm
from accord.models.training_parts import SCHEDULES

AHEAD = 2  # batches
# Seconds before the thread makes the next batch: first the step is launched that is about to be,
# which would else wait for the interpreter, and the GPU with it.
GIVE_WAY = 5e-4

STEPS = "steps.csv"
HEADER = "epoch,step,nats,gradient_norm,learning_rate\n"


class Prepared(NamedTuple):
    """A batch on its device."""

    words: Tensor  # (T × B)
    targets: Tensor  # (N), those that are words
    context: Tensor  # (N × n), what the output needs to know of the words before each target
    real: Tensor | None  # where the targets are among the T·B, if not everywhere
    extra: dict[str, Tensor]  # further inputs of the words (T × B × k), by name
    goes_on: bool  # whether columns go on from the batch before
    of_terms: tuple[tuple[Tensor, ...], ...] = ()  # the data of each term of the loss
    room: int | None = None  # for what the background adds up, where it must be known beforehand


def prepare(
    batch: Batch,
    contexts: np.ndarray,
    device: torch.device,
    terms: Sequence[LossTerm] = (),
    extra: Mapping[str, np.ndarray] | None = None,
) -> Prepared:
    """The batch on the device, with the data of its targets."""
    is_word = batch.targets != NO_WORD
    positions = batch.positions[is_word.numpy()]
    context = torch.from_numpy(contexts[positions])
    real = None if is_word.all() else is_word.flatten().nonzero().squeeze(1)
    of_words = {
        name: _sent(torch.from_numpy(each[batch.positions]), device)
        for name, each in (extra or {}).items()
    }
    of_terms = tuple(
        tuple(_sent(part, device) for part in term.of_batch(positions)) for term in terms
    )
    return Prepared(
        _sent(batch.words, device),
        _sent(batch.targets[is_word], device),
        _sent(context, device),
        None if real is None else _sent(real, device),
        of_words,
        batch.goes_on,
        of_terms,
    )


def _sent(tensor: Tensor, device: torch.device) -> Tensor:
    """The same on the device. From pinned memory the copy does not wait for the GPU."""
    if device.type == "cuda":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def ahead(items: Iterable, make: Callable[[Any], Any], number: int = AHEAD) -> Iterator[Any]:
    """The results for each item, in order, by a thread that works a few items ahead."""

    def make_later(item: Any) -> Any:
        time.sleep(GIVE_WAY)
        return make(item)

    waiting: deque = deque()
    with ThreadPoolExecutor(1) as thread:
        for item in items:
            waiting.append(thread.submit(make_later, item))
            if len(waiting) > number:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


Compute = Callable[[Prepared, State], tuple[Tensor, State]]


class _Recording(NamedTuple):
    graph: torch.cuda.CUDAGraph
    batch: Prepared  # what it reads
    before: State
    loss: Tensor  # what it writes, beside the gradients
    after: State


class RecordedSteps:
    """Records `compute`, which reads a batch and a state and fills the gradients.

    It may wait for nothing that the GPU has computed, and its gradients must stay where they are.
    """

    def __init__(self, compute: Compute, background: Background):
        self.compute, self.background = compute, background
        self.met: set[tuple] = set()
        self.recordings: dict[tuple, _Recording] = {}
        self.pool = torch.cuda.graph_pool_handle()  # only one of them runs at a time

    def with_room(self, prepared: Prepared, batch: Batch, contexts: np.ndarray) -> Prepared:
        """The batch, with the number of entries that the background reserves for it."""
        entries = int(self.background.entries(contexts[batch.positions]))
        coarse = 1 << max(0, entries.bit_length() - 3)  # so that few rooms differ
        return prepared._replace(room=-(-entries // coarse) * coarse)

    def __call__(self, batch: Prepared, before: State) -> tuple[Tensor, State]:
        shape = batch.room, *(tuple(tensor.shape) for tensor in _tensors((batch, before)))
        if shape not in self.recordings:
            if shape not in self.met or not _has_memory():
                self.met.add(shape)
                return self._compute(batch, before)
            self.recordings[shape] = self._record(batch, before)
        recording = self.recordings[shape]
        given, read = _tensors((batch, before)), _tensors((recording.batch, recording.before))
        for value, place in zip(given, read, strict=True):
            place.copy_(value)
        recording.graph.replay()
        return recording.loss.clone(), recording.after

    def _record(self, batch: Prepared, before: State) -> _Recording:
        batch, before = _copied(batch), _copied(before)
        graph = torch.cuda.CUDAGraph()
        # What the thread that prepares batches asks of the GPU meanwhile is not recorded.
        with torch.cuda.graph(graph, pool=self.pool, capture_error_mode="thread_local"):
            loss, after = self._compute(batch, before)
        return _Recording(graph, batch, before, loss, after)

    def _compute(self, batch: Prepared, before: State) -> tuple[Tensor, State]:
        self.background.room = batch.room
        computed = self.compute(batch, before)
        self.background.room = None
        return computed


def _has_memory() -> bool:
    """Whether enough memory is left after a recording, which keeps the memory of a step."""
    free, total = torch.cuda.mem_get_info()
    return free > total / 6


def _tensors(parts: tuple) -> Iterator[Tensor]:
    """All of them, however deep."""
    for part in parts:
        if isinstance(part, Tensor):
            yield part
        elif isinstance(part, tuple | dict):
            yield from _tensors(tuple(part.values()) if isinstance(part, dict) else part)


def _copied(part: Any) -> Any:
    """The same with tensors of their own."""
    if isinstance(part, Tensor):
        return part.clone()
    if isinstance(part, dict):
        return {name: _copied(each) for name, each in part.items()}
    if isinstance(part, tuple):
        copies = map(_copied, part)
        return type(part)(*copies) if hasattr(part, "_fields") else tuple(copies)
    return part


class StepLog:
    """Loss and gradient norm of every step, looked at many steps at a time.

    To look at each would have a GPU wait for it, so they stay where they were computed until then.
    """

    def __init__(self, path: Path, writes: bool):
        self.path, self.writes = path, writes
        self.losses: list[Tensor] = []
        self.norms: list[Tensor] = []
        self.rates: list[float] = []

    @property
    def size(self) -> int:
        """In bytes, so far."""
        return self.path.stat().st_size

    def cut(self, size: int) -> None:
        """Remove the steps after a checkpoint from the log: they are taken again."""
        if not self.writes:
            return
        with self.path.open("ab") as file:
            file.truncate(min(size, file.tell()))

    def add(self, loss: Tensor, norm: Tensor, learning_rate: float) -> None:
        self.losses.append(loss)
        self.norms.append(norm)
        self.rates.append(learning_rate)

    def check(self, epoch: int, last: int) -> int | None:
        """Log the steps up to the last one; return the first that is not finite."""
        if not self.losses:
            return None
        values = torch.stack([torch.stack(self.losses), torch.stack(self.norms)], dim=1).cpu()
        first = last - len(values) + 1
        if self.writes:
            self._write(epoch, first, values.tolist())
        self.losses, self.norms, self.rates = [], [], []
        wrong = (~values.isfinite().all(dim=1)).nonzero()
        return first + int(wrong[0]) if len(wrong) else None

    def _write(self, epoch: int, first: int, values: list[list[float]]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            if not file.tell():
                file.write(HEADER)
            for step, ((loss, norm), rate) in enumerate(
                zip(values, self.rates, strict=True), first
            ):
                file.write(f"{epoch},{step},{loss:.8g},{norm:.8g},{rate:.8g}\n")


def with_terms(
    run: Callable[[], Seen],
    terms: Sequence[LossTerm],
    of_batch: Sequence[tuple[Tensor, ...]],
) -> tuple[Tensor, Seen]:
    """The loss of a forward pass with all terms."""

    def once() -> tuple[Tensor, Seen]:
        seen = run()
        loss = seen.nats
        for term, given in zip(terms, of_batch, strict=True):
            loss = term(loss, seen, *given)
        return loss, seen

    for term in terms:
        once = term.around(once)
    return once()


class Steps:
    """Takes the steps of a model's training, from where it stands now.

    Each epoch draws its batches from the seed and its own number. On a GPU they are prepared ahead,
    and steps are recorded and replayed. Of several processes each reads its share of the columns,
    and all take the same step.
    """

    def __init__(
        self,
        model: LanguageModel,
        recipe: Recipe,
        now: TrainingState,
        log: StepLog,
        terms: Sequence[LossTerm] = (),
    ):
        self.model, self.recipe, self.now, self.log, self.terms = model, recipe, now, log, terms
        self.device = now.nats.device
        self.schedule = SCHEDULES.make(recipe.schedule)
        self.in_bfloat16 = recipe.precision == "bfloat16" and has_bfloat16(self.device)
        self.is_shared = processes.count() > 1  # other processes read some of the columns
        # Processes wait for each other, and windows of a stream alone come in few shapes.
        is_recorded = (
            self.device.type == "cuda"
            and recipe.text != "sentences"
            and not self.is_shared
            and model.has_fixed_shapes
        )
        self.recorded = (
            RecordedSteps(self._computed, log_linear_of(model).background) if is_recorded else None
        )
        if is_recorded and isinstance(model.encoder, Recurrent):
            model.encoder.in_parts = True  # more kernels, which a recording launches for nothing
        self.dropouts = [each for each in model.modules() if isinstance(each, DrawsForColumns)]
        # Of the last batch, where processes share it.
        self.share: processes.ProcessShare | None = None

    def batches(self, train: Sentences) -> Iterator[Batch]:
        """All batches of the current epoch."""
        generator = np.random.default_rng([self.recipe.seed, self.now.epoch])
        return batches(train, self.recipe, generator)

    def left(self, train: Sentences, contexts: np.ndarray) -> Iterator[tuple[Batch, Prepared]]:
        """The batches that are left of the epoch, and the columns that this process reads."""
        extra = self.model.conditioned(train).extra

        def both(batch: Batch) -> tuple[Batch, Prepared]:
            own = self._share_of(batch).batch(batch) if self.is_shared else batch
            prepared = prepare(own, contexts, self.device, self.terms, extra)
            if self.recorded:
                prepared = self.recorded.with_room(prepared, batch, contexts)
            return batch, prepared

        left = islice(self.batches(train), self.now.step, None)
        return ahead(left, both) if self.device.type == "cuda" else map(both, left)

    def take(self, batch: Batch, prepared: Prepared, epoch_words: float) -> int:
        """Take one step of the optimiser on one batch; return the number of words."""
        now = self.now
        self._set_learning_rate(epoch_words)
        count = int((batch.targets != NO_WORD).sum())
        self.share = self._share_of(batch) if self.is_shared else None
        for dropout in self.dropouts:
            dropout.share = self.share
        before = self._before(prepared)
        nats, after = (self.recorded or self._computed)(prepared, before)
        if self.share is not None:
            learning = [each for each in self.now.parameters() if each.requires_grad]
            processes.add_up(learning, nats, self.share.weight(batch))
        norm = nn.utils.clip_grad_norm_(self.now.parameters(), self.recipe.max_grad_norm)
        now.optimiser.step()
        if now.average:
            now.average.update(self.model)
        self.log.add(nats, norm, now.learning_rate)
        now.encoder, now.nats = after, now.nats + nats * count
        now.step, now.words = now.step + 1, now.words + count
        return count

    def _set_learning_rate(self, epoch_words: float) -> None:
        """Set the learning rate of this step, if the schedule changes it by step."""
        done = self.now.epoch - 1 + self.now.words / epoch_words
        rate = self.schedule.rate(self.recipe.learning_rate, done, self.recipe.epochs)
        if rate is not None:
            for group in self.now.optimiser.param_groups:
                group["lr"] = rate

    def _before(self, batch: Prepared) -> State:
        """The encoder's state before a batch."""
        goes_on = batch.goes_on and not self._begins_anew()
        if goes_on and self.now.encoder is not None:
            return self.now.encoder
        return self.model.encoder.initial_state(batch.words.shape[1])

    def _computed(self, batch: Prepared, before: State) -> tuple[Tensor, State]:
        """Nats per word of a batch, and the state after it; gradients lie beside the weights."""
        self.now.optimiser.zero_grad(set_to_none=self.recorded is None)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.in_bfloat16):
            run = partial(
                self.model.loss,
                batch.words,
                batch.targets,
                before,
                batch.context,
                batch.real,
                batch.extra,
                self.model.begin(batch.targets, batch.context),
            )
            loss, seen = with_terms(run, self.terms, batch.of_terms)
        loss.backward()
        return seen.nats.detach(), detached(seen.after)

    def _begins_anew(self) -> bool:
        """Whether a window is read from the zero state, by chance, if the recipe asks for it."""
        share = self.recipe.zero_state
        return bool(share) and torch.rand(()).item() < share

    def _share_of(self, batch: Batch) -> processes.ProcessShare:
        """Which columns of a batch this process reads."""
        return processes.ProcessShare.own(batch.words.shape[1])
