"""Where a training stands: all that the steps still to come depend on, but for the text."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from accord.models.common.files.weights import load_weights, parameters_of
from accord.models.common.state import State
from accord.models.training.curve import Epoch
from accord.models.training.ema import WeightAverage
from accord.models.training.optimisers import MuonAndAdamW


@dataclass
class TrainingState:
    model: nn.Module
    terms: nn.ModuleDict  # of the loss, of which some learn too
    optimiser: torch.optim.Optimizer | MuonAndAdamW
    average: WeightAverage | None
    best: dict[str, Tensor] = field(default_factory=dict)  # the weights of the best epoch so far
    curve: list[Epoch] = field(default_factory=list)
    without_gain: int = 0  # epochs since the last gain in validation

    # Of the epoch that is going on:
    step: int = 0  # steps done
    words: int = 0  # words read
    seconds: float = 0.0
    nats: Tensor = field(default_factory=lambda: torch.zeros(()))  # of all words read
    encoder: State | None = None  # what the next batch goes on from

    @property
    def epoch(self) -> int:
        return self.curve[-1].epoch + 1 if self.curve else 1

    @property
    def learning_rate(self) -> float:
        return self.optimiser.param_groups[0]["lr"]

    def parameters(self) -> list[nn.Parameter]:
        """All that is trained, the model's first."""
        return [*self.model.parameters(), *self.terms.parameters()]

    def close_epoch(self, row: Epoch) -> None:
        self.curve.append(row)
        self.step, self.words, self.seconds = 0, 0, 0.0
        self.nats, self.encoder = torch.zeros_like(self.nats), None

    def pack(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Everything as named tensors and as values that JSON can hold."""
        optimiser = self.optimiser.state_dict()
        parts = {
            "model": parameters_of(self.model),
            "terms": parameters_of(self.terms),
            "best": self.best,
            "average": self.average.state_dict() if self.average else {},
            "random": {"cpu": torch.get_rng_state()},
            "": {"nats": self.nats},
        }
        if self.nats.is_cuda:
            parts["random"]["cuda"] = torch.cuda.get_rng_state(self.nats.device)
        parts |= {f"optimiser.{index}": values for index, values in optimiser["state"].items()}
        for number, layer in enumerate(self.encoder or ()):
            parts[f"encoder.{number}"] = {str(place): value for place, value in enumerate(layer)}
        tensors = {
            f"{part}.{name}": v for part, named in parts.items() for name, v in named.items()
        }
        return tensors, {
            "curve": [vars(row) for row in self.curve],
            "without_gain": self.without_gain,
            "groups": optimiser["param_groups"],
            "step": self.step,
            "words": self.words,
            "seconds": self.seconds,
        }

    def unpack(self, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
        """Go back to where `pack` was called."""
        device = self.nats.device
        load_weights(self.model, _part(tensors, "model."))
        load_weights(self.terms, _part(tensors, "terms."))
        if self.average:
            self.average.load_state_dict(_part(tensors, "average."))
        state = {int(index): named for index, named in _nested(tensors, "optimiser.").items()}
        self.optimiser.load_state_dict({"state": state, "param_groups": values["groups"]})
        self.best = {name: v.to(device) for name, v in _part(tensors, "best.").items()}
        self.curve = [Epoch(**row) for row in values["curve"]]
        self.without_gain, self.step = values["without_gain"], values["step"]
        self.words, self.seconds = values["words"], values["seconds"]
        self.nats = tensors[".nats"].to(device)
        layers = _nested(tensors, "encoder.")
        self.encoder = tuple(
            tuple(v.to(device) for _, v in sorted(layers[number].items()))
            for number in sorted(layers, key=int)
        )
        torch.set_rng_state(tensors["random.cpu"])
        if device.type == "cuda" and "random.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random.cuda"], device)


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose names begin with the prefix, without it."""
    return {n.removeprefix(prefix): value for n, value in tensors.items() if n.startswith(prefix)}


def _nested(tensors: dict[str, Tensor], prefix: str) -> dict[str, dict[str, Tensor]]:
    """The same, by the two halves of what is left of each name."""
    nested: dict[str, dict[str, Tensor]] = {}
    for name, value in _part(tensors, prefix).items():
        index, key = name.split(".")
        nested.setdefault(index, {})[key] = value
    return nested
