"""The training loop: epochs over shuffled text, validation, early stopping, the best weights."""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load
from torch import nn

from accord.errors import AccordError
from accord.models.calibration import fit_calibration, fit_temperature
from accord.models.checkpoint import Checkpoints, TrainingState, WeightAverage, parse
from accord.models.common.device import (
    Threads,
    be_deterministic,
    choose_device,
    freed_memory_kept,
)
from accord.models.common.files import WEIGHTS
from accord.models.common.weights import load_weights, parameters_of, save_tensors
from accord.models.data import Sentences
from accord.models.gpu import processes
from accord.models.log import CURVE, Epoch, write_curve
from accord.models.model import LanguageModel
from accord.models.optimisers import optimiser
from accord.models.recipe import Recipe
from accord.models.regularisers import LossTerm, regularisers
from accord.models.step import STEPS, StepLog, Steps

CHECKED_EVERY = 50  # steps between two looks at the losses, for which a GPU is waited for


class Trainer:
    """Trains a model into a folder, and resumes from the last checkpoint if it was interrupted.

    A checkpoint stores the number of batches done, as each epoch draws its own. On a CPU the
    weights come out the same to the last bit, however often the training is interrupted. Where
    several processes train one model (accord.models.gpu.processes), the first one writes; a
    checkpoint does not depend on how many they are. `terms` come before those that the recipe adds
    to the loss.
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
        named = {type(term).__name__.lower(): term for term in terms}
        named |= regularisers(recipe, model)
        self.terms = nn.ModuleDict(named).to(self.device)
        self.model = model.to(self.device)
        self.recipe, self.folder = recipe, folder
        self.on_step, self.on_epoch, self.say = on_step, on_epoch, say
        average = WeightAverage(model, recipe.ema) if recipe.ema else None
        nats = torch.zeros((), device=self.device)
        steps_of = optimiser(recipe, model, self.terms.parameters())
        self.now = TrainingState(model, self.terms, steps_of, average, nats=nats)
        self.log = StepLog(folder / STEPS, writes=processes.is_first())
        self.steps = Steps(self.model, recipe, self.now, self.log, [*named.values()])
        self.checkpoints = Checkpoints(folder)
        self.saved = time.monotonic()

    @property
    def curve(self) -> list[Epoch]:
        return self.now.curve

    def fit(self, train: Sentences, valid: Sentences, goes_on: bool = False) -> None:
        """Train until validation stops improving; the best weights are in the folder after it.

        An initial checkpoint is validated before the first step, as epoch 0: the result is never
        worse.
        """
        was_done = processes.is_first() and (self.folder / CURVE).exists()  # the last thing written
        if not processes.total(was_done):
            be_deterministic(self.recipe.deterministic)
            self._resume()
            if self.recipe.precision == "bfloat16" and not self.steps.in_bfloat16:
                self.say("precision: float32, as products in bfloat16 are slow on this processor")
            if goes_on and not self.curve:
                self._open(valid)
            contexts = self.model.contexts(train, training=True)
            for term in self.steps.terms:
                term.prepare(self.model, train, valid)
            is_free = self.device.type == "cpu" and not self.recipe.deterministic
            with freed_memory_kept(), Threads(is_free and processes.count() == 1) as threads:
                while not self._is_done():
                    self._pass(train, contexts, threads)
                    self._close_epoch(valid)
                    self._save()
                    self.on_epoch(self.curve[-1])
            self.steps.recorded = None  # which the collector must not free in a recording
            if processes.is_first():
                self._save_best(valid)
                write_curve(self.curve, self.folder / CURVE)
        weights = (self.folder / WEIGHTS).read_bytes() if processes.is_first() else None
        load_weights(self.model, load(processes.from_first(weights)))
        if processes.is_first():
            self.checkpoints.clear()

    def _save_best(self, valid: Sentences) -> None:
        """Write the best weights, with the temperature and the calibration that suit them."""
        load_weights(self.model, self.now.best)
        if "temperature" in self.recipe.fitted:
            fit_temperature(self.model, valid)
        if "calibration" in self.recipe.fitted:
            fit_calibration(self.model, valid)
        save_tensors(parameters_of(self.model), self.folder / WEIGHTS)

    def _is_done(self) -> bool:
        spent = sum(row.seconds for row in self.curve)
        most = math.inf if self.recipe.seconds is None else self.recipe.seconds
        enough = self.now.epoch > self.recipe.epochs or spent >= most
        return enough or self.now.without_gain >= self.recipe.patience

    def _pass(self, train: Sentences, contexts: np.ndarray, threads: Threads) -> None:
        """Train over the text once, or over the rest of it."""
        now = self.now
        if not now.step:
            torch.manual_seed(self.recipe.seed * 10_000 + now.epoch)
        self.model.train()
        start = time.monotonic() - now.seconds
        epoch_words = train.epoch_words  # of all documents: too slow to add up at every step
        for batch, prepared in self.steps.left(train, contexts):
            words = self.steps.take(batch, prepared, epoch_words)
            self.on_step(words)
            threads.after_step(words)
            now.seconds = time.monotonic() - start
            is_due = self._is_due()
            if is_due or now.step % CHECKED_EVERY == 0:
                self._check(train)
            if is_due:
                self._save()
        self._check(train)
        now.seconds = time.monotonic() - start

    def _open(self, valid: Sentences) -> None:
        """Validate the initial checkpoint: its weights are the best so far."""
        began = time.monotonic()
        valid_nats = self._validated(valid, epoch=0)
        seconds = processes.total(time.monotonic() - began) / processes.count()
        self.now.best = parameters_of(self.model)
        rate = self.now.learning_rate
        self.now.close_epoch(Epoch(0, math.nan, valid_nats, rate, seconds, math.nan))
        self.on_epoch(self.curve[-1])

    def _close_epoch(self, valid: Sentences) -> None:
        """Validate; keep the best weights. An epoch without gain lowers the learning rate."""
        now = self.now
        best = min((row.valid_nats for row in self.curve), default=math.inf)
        with now.average.applied(self.model) if now.average else nullcontext():
            valid_nats = self._validated(valid, now.epoch)
            if valid_nats < best:
                now.best = parameters_of(self.model)
        seconds = processes.total(now.seconds) / processes.count()  # on which all have to agree
        train_nats, speed = float(now.nats) / now.words, now.words / seconds
        now.close_epoch(
            Epoch(now.epoch, train_nats, valid_nats, now.learning_rate, round(seconds, 3), speed)
        )
        if valid_nats < best - self.recipe.min_delta:
            now.without_gain = 0
        else:
            now.without_gain += 1
            for group in now.optimiser.param_groups:
                group["lr"] = self.steps.schedule.without_gain(group["lr"])

    def _validated(self, valid: Sentences, epoch: int) -> float:
        """Nats per word, each process scoring its share of the sentences."""
        share = processes.ProcessShare.own(len(valid.lengths))
        log_p = self.model.score(share.sentences(valid)).sum() * share.counts
        nats = -processes.total(float(log_p)) / len(valid.ids)
        if not math.isfinite(nats):
            raise self._failure(f"the validation loss of epoch {epoch} is {nats}")
        return nats

    def _is_due(self) -> bool:
        """Whether it is time for a checkpoint, by steps or by seconds."""
        steps, seconds = self.recipe.checkpoint_steps, self.recipe.checkpoint_seconds
        if steps and self.now.step % steps == 0:
            return True
        is_late = 0 < seconds < time.monotonic() - self.saved
        if not self.steps.is_shared:
            return is_late
        if self.now.step % CHECKED_EVERY:
            return False  # processes agree on the time too seldom for it to cost
        return bool(processes.total(is_late))

    def _save(self) -> None:
        """Write a checkpoint; an error if a weight is not finite."""
        if not all(bool(weight.isfinite().all()) for weight in self.now.parameters()):
            raise self._failure(
                f"a weight is not finite after epoch {self.now.epoch}, step {self.now.step}"
            )
        now = self.now
        state, share = now.encoder, self.steps.share
        if state and share is not None:
            state = share.gathered(state)
        if processes.is_first():
            tensors, values = replace(now, encoder=state).pack()
            values |= {"logged": self.log.size, "recipe": self.recipe.identity()}
            self.checkpoints.write(now.epoch, now.step, tensors, values)
        self.saved = time.monotonic()

    def _resume(self) -> None:
        """Resume from the newest checkpoint, if there is one."""
        now, logged = self.now, 0
        newest = self.checkpoints.newest(self.say) if processes.is_first() else None
        if content := processes.from_first(newest):
            tensors, values = parse(content)
            self._refuse_other(values["recipe"])
            now.unpack(tensors, values)
            if now.encoder:
                now.encoder = processes.ProcessShare.own(now.encoder[0][0].shape[1]).state(
                    now.encoder
                )
            logged = values["logged"]
            self.say(f"goes on from epoch {now.epoch}, step {now.step}")
        self.log.cut(logged)

    def _refuse_other(self, recipe: dict[str, Any]) -> None:
        """Reject a checkpoint of another recipe: no recipe would describe the result."""
        for key, value in self.recipe.identity().items():
            if recipe.get(key) != value:
                raise AccordError(
                    f"{self.folder} has a training with {key} {recipe.get(key)!r}, which cannot go "
                    f"on with {value!r}; remove its checkpoints to start anew"
                )

    def _check(self, train: Sentences) -> None:
        """Log the last steps; stop if the loss or the gradient of one of them is no number."""
        now = self.now
        step = self.log.check(now.epoch, now.step)
        if step is None:
            return
        batch = next(islice(self.steps.batches(train), step - 1, None))
        sentences = np.searchsorted(train.starts, batch.positions[0], side="right")
        some = ", ".join(map(str, sentences[:5])) + (" …" if len(sentences) > 5 else "")
        raise self._failure(
            f"the loss or its gradient is not finite at epoch {now.epoch}, step {step}, whose "
            f"columns begin in sentences {some} of the training text ({self.log.path})"
        )

    def _failure(self, what: str) -> FloatingPointError:
        files = self.checkpoints.files()
        last = f"the last good checkpoint is {files[-1]}" if files else "no checkpoint was written"
        return FloatingPointError(f"{what}; {last}")
