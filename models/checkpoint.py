"""The state of a training, its averaged weights, its checkpoints.

A file's name tells the epoch that was going on, the steps done in it and the hash of the content,
so that a damaged checkpoint is known before it is used. Nothing in it is pickled.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from accord.models.common.files import PARTIAL, remove, write_whole
from accord.models.common.weights import load_weights, parameters_of
from accord.models.data import State
from accord.models.log import Epoch
from accord.models.optimisers import MuonAndAdamW

KEPT = 2
VALUES = "values"  # the tensor that holds all other values, as JSON


class Checkpoints:
    """The newest checkpoints of one training, in its folder."""

    def __init__(self, folder: Path):
        self.folder = folder

    def files(self) -> list[Path]:
        """The oldest first."""
        return sorted(self.folder.glob("checkpoint-*.safetensors"))

    def write(self, epoch: int, step: int, tensors: dict[str, Tensor], values: Any) -> None:
        text = bytearray(json.dumps(values).encode())
        content = save(
            {name: tensor.contiguous() for name, tensor in tensors.items()}
            | {VALUES: torch.frombuffer(text, dtype=torch.uint8)}
        )
        name = f"checkpoint-{epoch:05}-{step:08}-{_digest(content)}.safetensors"
        write_whole(self.folder / name, content)
        for old in self.files()[:-KEPT]:
            old.unlink()

    def newest(self, say: Callable[[str], None]) -> bytes | None:
        """The content of the newest checkpoint that is whole; damaged ones are named and removed.

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


def parse(content: bytes) -> tuple[dict[str, Tensor], Any]:
    """The tensors and values of a checkpoint."""
    tensors = load(content)
    return tensors, json.loads(tensors.pop(VALUES).numpy().tobytes())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


class WeightAverage:
    """The mean of a model's parameters over the updates so far.

    The first updates count alike (Polyak & Juditsky 1992, the averaged SGD of AWD-LSTM); older
    ones fade as decay^age, once enough of them are seen for that to matter.
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
        """The model with its averaged weights, and with its own again afterwards."""
        own = parameters_of(model)
        load_weights(model, self.mean)
        try:
            yield
        finally:
            load_weights(model, own)

    def state_dict(self) -> dict[str, Tensor]:
        """All tensors, so that it can be stored beside the weights."""
        return {"updates": torch.tensor(self.updates), **self.mean}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.updates = int(state["updates"])
        for name, value in self.mean.items():
            value.copy_(state[name])


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
    encoder: State | None = None  # the state before the next batch

    @property
    def epoch(self) -> int:
        return self.curve[-1].epoch + 1 if self.curve else 1

    @property
    def learning_rate(self) -> float:
        return self.optimiser.param_groups[0]["lr"]

    def parameters(self) -> list[nn.Parameter]:
        """All trained parameters, those of the model first."""
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
        """Restore the state that `pack` saved."""
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
    """The same, by the two halves of the rest of each name."""
    nested: dict[str, dict[str, Tensor]] = {}
    for name, value in _part(tensors, prefix).items():
        index, key = name.split(".")
        nested.setdefault(index, {})[key] = value
    return nested
