"""The training loop: epochs over shuffled text, validation, early stopping, the best weights."""

import csv
import json
import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from models.batching import NO_WORD, Sentences, batches
from models.encoders import detached
from models.language_model import LanguageModel
from models.recipe import Recipe
from models.weight_averaging import WeightAverage
from models.weights import load_weights, parameters_of, save_tensors, save_weights

OPTIMISERS = {
    "adamw": torch.optim.AdamW,
    "rmsprop": torch.optim.RMSprop,
    "sgd": torch.optim.SGD,
}
WEIGHTS, CURVE = "weights.safetensors", "curve.csv"
STATE, TENSORS = "state.json", "state.safetensors"


@dataclass(frozen=True)
class Epoch:
    """A row of the loss curve; losses in nats per word, sentence ends included."""

    epoch: int
    train_nats: float
    valid_nats: float
    learning_rate: float
    seconds: float
    words_per_second: float


class Trainer:
    """Trains a model into a folder, and goes on from there if it was interrupted.

    Each epoch draws its randomness from the seed and its own number, so that what is left of an
    interrupted run is the same whenever it is taken up.
    """

    def __init__(
        self,
        model: LanguageModel,
        recipe: Recipe,
        folder: Path,
        end: int,
        on_step: Callable[[int], None] = lambda words: None,
        on_epoch: Callable[[Epoch], None] = lambda epoch: None,
    ):
        self.device = choose_device(recipe.device)
        self.model = model.to(self.device)
        self.recipe, self.folder, self.end = recipe, folder, end
        self.on_step, self.on_epoch = on_step, on_epoch
        self.optimiser = OPTIMISERS[recipe.optimiser](
            model.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay
        )
        self.average = WeightAverage(model, recipe.average) if recipe.average else None
        self.curve: list[Epoch] = []
        self.without_gain = 0

    def fit(self, train: Sentences, valid: Sentences) -> None:
        """Train until validation stops improving; the best weights are in the folder after it."""
        self._resume()
        while len(self.curve) < self.recipe.epochs and self.without_gain < self.recipe.patience:
            best = min((row.valid_nats for row in self.curve), default=math.inf)
            epoch = self._epoch(train, valid, best)
            self.curve.append(epoch)
            if epoch.valid_nats < best - self.recipe.gain:
                self.without_gain = 0
            else:
                self.without_gain += 1
                for group in self.optimiser.param_groups:
                    group["lr"] /= self.recipe.decay
            self._save_state()
            self.on_epoch(epoch)
        load_weights(self.model, self.folder / WEIGHTS)
        write_curve(self.curve, self.folder)
        (self.folder / STATE).unlink(missing_ok=True)
        (self.folder / TENSORS).unlink(missing_ok=True)

    def _epoch(self, train: Sentences, valid: Sentences, best: float) -> Epoch:
        """Train once over the text and validate; weights better than the best are kept."""
        number = len(self.curve) + 1
        torch.manual_seed(self.recipe.seed * 10_000 + number)
        generator = np.random.default_rng([self.recipe.seed, number])
        learning_rate = self.optimiser.param_groups[0]["lr"]
        start = time.monotonic()
        nats, words = self._pass(train, generator)
        seconds = time.monotonic() - start
        with self.average.applied(self.model) if self.average else nullcontext():
            valid_nats = -float(self.model.score(valid).mean())
            if valid_nats < best:
                save_weights(self.model, self.folder / WEIGHTS)
        return Epoch(
            number, nats / words, valid_nats, learning_rate, round(seconds, 3), words / seconds
        )

    def _pass(self, train: Sentences, generator: np.random.Generator) -> tuple[float, int]:
        """One step of the optimiser per window; total loss in nats and words read."""
        self.model.train()
        state, nats, read = None, 0.0, 0
        contexts = self.model.contexts(train, training=True)
        for batch in batches(train, self.recipe, self.end, generator):
            count = int((batch.targets != NO_WORD).sum())
            words, targets = batch.words.to(self.device), batch.targets.to(self.device)
            context = torch.from_numpy(contexts[batch.places]).to(self.device)
            state = state if batch.goes_on else self.model.encoder.initial_state(words.shape[1])
            with torch.autocast(
                self.device.type, torch.bfloat16, enabled=self.recipe.precision == "bfloat16"
            ):
                loss, state = self.model.loss(words, targets, state, context)
            self.optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.clip)
            self.optimiser.step()
            if self.average:
                self.average.update(self.model)
            state = detached(state)
            nats, read = nats + loss.detach() * count, read + count
            self.on_step(count)
        return float(nats), read

    def _save_state(self) -> None:
        """What the next epoch needs; written beside the old state and then put in its place."""
        tensors = {f"model.{name}": value for name, value in parameters_of(self.model).items()}
        if self.average:
            tensors |= {f"average.{n}": value for n, value in self.average.state_dict().items()}
        packed = self.optimiser.state_dict()
        for index, values in packed["state"].items():
            tensors |= {f"optimiser.{index}.{name}": value for name, value in values.items()}
        save_tensors(tensors, self.folder / TENSORS)
        state = {
            "curve": [vars(row) for row in self.curve],
            "without_gain": self.without_gain,
            "groups": packed["param_groups"],
        }
        (self.folder / f"{STATE}.new").write_text(json.dumps(state))
        (self.folder / f"{STATE}.new").replace(self.folder / STATE)

    def _resume(self) -> None:
        if not (self.folder / STATE).exists():
            return
        state = json.loads((self.folder / STATE).read_text())
        tensors = load_file(str(self.folder / TENSORS), device=str(self.device))
        load_weights(self.model, _part(tensors, "model."))
        if self.average:
            self.average.load_state_dict(_part(tensors, "average."))
        packed: dict = {"state": {}, "param_groups": state["groups"]}
        for name, value in _part(tensors, "optimiser.").items():
            index, key = name.split(".")
            packed["state"].setdefault(int(index), {})[key] = value
        self.optimiser.load_state_dict(packed)
        self.curve = [Epoch(**row) for row in state["curve"]]
        self.without_gain = state["without_gain"]


def write_curve(curve: Sequence[Epoch], folder: Path) -> None:
    with (folder / CURVE).open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(Epoch.__dataclass_fields__))
        writer.writeheader()
        writer.writerows(vars(row) for row in curve)


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose names begin with the prefix, without it."""
    return {n.removeprefix(prefix): value for n, value in tensors.items() if n.startswith(prefix)}


def choose_device(name: str) -> torch.device:
    """The named device, or for `auto` the GPU if there is one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)
