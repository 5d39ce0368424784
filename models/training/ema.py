"""Weight averaging: the mean of the weights along training generalises better than the last."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from accord.models.common.files.weights import load_weights, parameters_of


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
