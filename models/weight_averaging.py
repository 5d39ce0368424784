"""Weight averaging: the mean of the weights along training generalises better than the last."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightAverage:
    """The mean of a model's parameters over the updates so far.

    Without `decay` all updates count alike (Polyak & Juditsky 1992, the averaged SGD of AWD-LSTM);
    with it older ones fade as decay^age, once enough of them are seen for that to matter.
    """

    def __init__(self, model: nn.Module, decay: float | None = None):
        if decay is not None and not 0 <= decay < 1:
            raise ValueError(f"decay: expected a number from 0 to under 1, got {decay}")
        self.decay = decay
        self.updates = 0
        self.mean = {name: value.detach().clone() for name, value in model.named_parameters()}

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        self.updates += 1
        share = 1 / self.updates
        if self.decay is not None:
            share = max(share, 1 - self.decay)
        for name, value in model.named_parameters():
            self.mean[name].lerp_(value, share)

    @contextmanager
    def applied(self, model: nn.Module) -> Iterator[None]:
        """The model with its averaged weights, and with its own again afterwards."""
        own = {name: value.detach().clone() for name, value in model.named_parameters()}
        _copy(self.mean, model)
        try:
            yield
        finally:
            _copy(own, model)

    def state_dict(self) -> dict[str, Tensor]:
        """All tensors, so that it can be stored beside the weights."""
        return {"updates": torch.tensor(self.updates), **self.mean}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.updates = int(state["updates"])
        for name, value in self.mean.items():
            value.copy_(state[name])


@torch.no_grad()
def _copy(weights: dict[str, Tensor], model: nn.Module) -> None:
    for name, value in model.named_parameters():
        value.copy_(weights[name])
