"""The encoders h_t = f(ψ(K), h_{t−1}): recurrent ones, trained or not (a reservoir), a feed-forward
window, a Transformer.

All map inputs (T × B × E) and a state to outputs (T × B × H) and the state after them, so that a
text may be read in pieces. A state is a tuple with one tuple of tensors per layer, the batch in
dimension 1 of each.
"""

from itertools import pairwise

import torch
from torch import Tensor, nn

from models.recurrent_layer import RecurrentLayer
from models.reservoir import Reservoir
from models.transformer import Transformer
from models.variational_dropout import VariationalDropout

State = tuple[tuple[Tensor, ...], ...]


class Recurrent(nn.Module):
    """Layers of one kind on top of each other, with variational dropout between them."""

    def __init__(
        self,
        name: str,
        inputs: int,
        hidden: int,
        outputs: int,
        layers: int,
        dropout: float = 0.0,
        weight_dropout: float = 0.0,
    ):
        super().__init__()
        widths = [inputs, *[hidden] * (layers - 1), outputs]
        self.layers = nn.ModuleList(
            RecurrentLayer(name, *pair, weight_dropout) for pair in pairwise(widths)
        )
        self.dropout = VariationalDropout(dropout)

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        after = []
        for number, (layer, before) in enumerate(zip(self.layers, state, strict=True)):
            inputs, layer_state = layer(self.dropout(inputs) if number else inputs, before)
            after.append(layer_state)
        return inputs, tuple(after)

    def initial_state(self, batch: int) -> State:
        return tuple(layer.initial_state(batch) for layer in self.layers)


class Window(nn.Module):
    """The feed-forward model of Bengio et al. (2003): h_t sees the last `order` inputs only."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        layers: int,
        dropout: float = 0.0,
        order: int = 4,
    ):
        super().__init__()
        self.inputs, self.order = inputs, order
        widths = [order * inputs, *[hidden] * (layers - 1), outputs]
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(widths))
        self.dropout = VariationalDropout(dropout)

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        seen = torch.cat([state[0][0], inputs])
        outputs = seen.unfold(0, self.order, 1).flatten(start_dim=2)
        for number, layer in enumerate(self.layers):
            outputs = layer(self.dropout(outputs) if number else outputs).tanh()
        return outputs, ((seen[len(seen) - self.order + 1 :],),)

    def initial_state(self, batch: int) -> State:
        return ((self.layers[0].weight.new_zeros(self.order - 1, batch, self.inputs),),)


OTHERS = {"window": Window, "transformer": Transformer, "reservoir": Reservoir}


def encoder(name: str, *, weight_dropout: float = 0.0, **settings) -> nn.Module:
    """The encoder of that name: a kind of recurrent layer, or one of the others."""
    if name in RecurrentLayer.kernels:
        return Recurrent(name, weight_dropout=weight_dropout, **settings)
    if name not in OTHERS:
        known = ", ".join([*RecurrentLayer.kernels, *OTHERS])
        raise ValueError(f"encoder: expected one of {known}; got {name!r}")
    if weight_dropout:
        raise ValueError(
            f"weight_dropout: a {name} trains no recurrent weights to drop; expected 0"
        )
    return OTHERS[name](**settings)


def detached(state: State) -> State:
    """The same state, cut from the graph that computed it."""
    return tuple(tuple(tensor.detach() for tensor in layer) for layer in state)


def columns(state: State, chosen: Tensor | slice) -> State:
    """Those columns of a state, whole in memory, as the kernels of a GPU want it."""
    return tuple(tuple(tensor[:, chosen].contiguous() for tensor in layer) for layer in state)
