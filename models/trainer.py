"""The training loop: epochs over shuffled text, validation, early stopping, the best weights."""

import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from models.batching import NO_WORD, Batch, Sentences, batches
from models.checkpoint import Checkpoints, parse
from models.curve import CURVE, Epoch, write_curve
from models.encoders import State, detached
from models.language_model import LanguageModel
from models.recipe import Recipe
from models.step_log import STEPS, StepLog
from models.weight_averaging import WeightAverage
from models.weights import load_weights, parameters_of, save_weights

OPTIMISERS = {
    "adamw": torch.optim.AdamW,
    "rmsprop": torch.optim.RMSprop,
    "sgd": torch.optim.SGD,
}
WEIGHTS = "weights.safetensors"
CHECKED_EVERY = 50  # steps; each time a GPU is waited for


@dataclass
class Position:
    """How far the epoch has come that is going on."""

    nats: Tensor  # of all words read
    words: int = 0
    step: int = 0
    seconds: float = 0.0
    state: State | None = None  # of the encoder, where the next batch goes on


class Trainer:
    """Trains a model into a folder, and goes on from the last checkpoint if it was interrupted.

    Each epoch draws its batches from the seed and its own number, so that a checkpoint need only
    say how many of them are done. On a CPU the weights come out the same to the last bit, however
    often the training was interrupted.
    """

    def __init__(
        self,
        model: LanguageModel,
        recipe: Recipe,
        folder: Path,
        end: int,
        on_step: Callable[[int], None] = lambda words: None,
        on_epoch: Callable[[Epoch], None] = lambda epoch: None,
        say: Callable[[str], None] = lambda line: None,
    ):
        self.device = choose_device(recipe.device)
        self.model = model.to(self.device)
        self.recipe, self.folder, self.end = recipe, folder, end
        self.on_step, self.on_epoch, self.say = on_step, on_epoch, say
        self.optimiser = OPTIMISERS[recipe.optimiser](
            model.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay
        )
        self.average = WeightAverage(model, recipe.average) if recipe.average else None
        self.best: dict[str, Tensor] = {}
        self.curve: list[Epoch] = []
        self.without_gain = 0
        self.at = self._start()
        self.log = StepLog(folder / STEPS)
        self.checkpoints = Checkpoints(folder)
        self.saved = time.monotonic()

    def fit(self, train: Sentences, valid: Sentences) -> None:
        """Train until validation stops improving; the best weights are in the folder after it."""
        if (self.folder / CURVE).exists():  # it was interrupted after the last thing it writes
            load_weights(self.model, self.folder / WEIGHTS)
        else:
            make_deterministic(self.recipe.deterministic)
            self._resume()
            while len(self.curve) < self.recipe.epochs and self.without_gain < self.recipe.patience:
                self._pass(train)
                self._close_epoch(valid)
                self._save()
                self.on_epoch(self.curve[-1])
            load_weights(self.model, self.best)
            save_weights(self.model, self.folder / WEIGHTS)
            write_curve(self.curve, self.folder)
        self.checkpoints.clear()

    def _pass(self, train: Sentences) -> None:
        """Train once over the text, or over what is left of it."""
        if not self.at.step:
            torch.manual_seed(self.recipe.seed * 10_000 + self._epoch)
        self.model.train()
        contexts = self.model.contexts(train, training=True)
        start = time.monotonic() - self.at.seconds
        for batch in islice(self._batches(train), self.at.step, None):
            self._step(batch, contexts)
            self.at.seconds = time.monotonic() - start
            is_due = self._is_due()
            if is_due or self.at.step % CHECKED_EVERY == 0:
                self._check(train)
            if is_due:
                self._save()
        self._check(train)
        self.at.seconds = time.monotonic() - start

    def _step(self, batch: Batch, contexts: np.ndarray) -> None:
        """One step of the optimiser on one batch."""
        count = int((batch.targets != NO_WORD).sum())
        words, targets = batch.words.to(self.device), batch.targets.to(self.device)
        context = torch.from_numpy(contexts[batch.places]).to(self.device)
        goes_on = self.at.state if batch.goes_on else None
        state = goes_on or self.model.encoder.initial_state(words.shape[1])
        with torch.autocast(
            self.device.type, torch.bfloat16, enabled=self.recipe.precision == "bfloat16"
        ):
            loss, state = self.model.loss(words, targets, state, context)
        self.optimiser.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)
        self.optimiser.step()
        if self.average:
            self.average.update(self.model)
        loss = loss.detach()
        self.log.add(loss, norm)
        self.at.state = detached(state)
        self.at.nats = self.at.nats + loss * count
        self.at.words += count
        self.at.step += 1
        self.on_step(count)

    def _close_epoch(self, valid: Sentences) -> None:
        """Validate; the best weights are kept, and an epoch without gain slows the learning."""
        best = min((row.valid_nats for row in self.curve), default=math.inf)
        with self.average.applied(self.model) if self.average else nullcontext():
            valid_nats = -float(self.model.score(valid).mean())
            if not math.isfinite(valid_nats):
                raise self._stopped(f"the validation loss is {valid_nats} after epoch {self._epoch}")
            if valid_nats < best:
                self.best = parameters_of(self.model)
        at, seconds = self.at, self.at.seconds
        rate = self._learning_rate
        self.curve.append(
            Epoch(
                self._epoch,
                float(at.nats) / at.words,
                valid_nats,
                rate,
                round(seconds, 3),
                at.words / seconds,
            )
        )
        self.at = self._start()
        if valid_nats < best - self.recipe.gain:
            self.without_gain = 0
        else:
            self.without_gain += 1
            for group in self.optimiser.param_groups:
                group["lr"] /= self.recipe.decay

    @property
    def _epoch(self) -> int:
        """The number of the epoch that is going on."""
        return len(self.curve) + 1

    @property
    def _learning_rate(self) -> float:
        return self.optimiser.param_groups[0]["lr"]

    def _start(self) -> Position:
        return Position(torch.zeros((), device=self.device))

    def _batches(self, train: Sentences) -> Iterator[Batch]:
        generator = np.random.default_rng([self.recipe.seed, self._epoch])
        return batches(train, self.recipe, self.end, generator)

    def _is_due(self) -> bool:
        """Whether it is time for a checkpoint, by steps or by seconds."""
        steps, seconds = self.recipe.checkpoint_steps, self.recipe.checkpoint_seconds
        by_steps = steps and self.at.step % steps == 0
        return bool(by_steps or 0 < seconds < time.monotonic() - self.saved)

    def _check(self, train: Sentences) -> None:
        """Log the last steps; stop if one of them had a loss or gradient that is no number."""
        step = self.log.check(self._epoch, self.at.step, self._learning_rate)
        if step is None:
            return
        batch = next(islice(self._batches(train), step - 1, None))
        sentences = np.searchsorted(train.starts, batch.places[0], side="right")
        some = ", ".join(map(str, sentences[:5])) + (" …" if len(sentences) > 5 else "")
        raise self._stopped(
            f"the loss or the norm of its gradient is not finite at epoch {self._epoch}, step "
            f"{step}, whose columns begin in the sentences {some} of the training text; "
            f"{self.log.path} has all steps"
        )

    def _stopped(self, why: str) -> FloatingPointError:
        files = self.checkpoints.files()
        kept = f"the last good checkpoint is {files[-1]}" if files else "there is no checkpoint yet"
        return FloatingPointError(f"{why}; {kept}")

    def _save(self) -> None:
        """Write a checkpoint: all that the steps from here on depend on."""
        tensors = {f"model.{name}": value for name, value in parameters_of(self.model).items()}
        tensors |= {f"best.{name}": value for name, value in self.best.items()}
        if self.average:
            tensors |= {f"average.{n}": value for n, value in self.average.state_dict().items()}
        packed = self.optimiser.state_dict()
        for index, values in packed["state"].items():
            tensors |= {f"optimiser.{index}.{name}": value for name, value in values.items()}
        for number, layer in enumerate(self.at.state or ()):
            tensors |= {f"state.{number}.{place}": value for place, value in enumerate(layer)}
        tensors |= {f"random.{name}": value for name, value in _random_states(self.device).items()}
        values = {
            "curve": [vars(row) for row in self.curve],
            "without_gain": self.without_gain,
            "groups": packed["param_groups"],
            "words": self.at.words,
            "step": self.at.step,
            "seconds": self.at.seconds,
            "logged": self.log.size,
        }
        self.checkpoints.write(
            self._epoch, self.at.step, {**tensors, "nats": self.at.nats}, values
        )
        self.saved = time.monotonic()
