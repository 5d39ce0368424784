"""Encoders without recurrence: Transformer, window, LSTM over a window, linear."""

from itertools import pairwise
from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

from accord.errors import AccordError
from accord.models.common.registry import about
from accord.models.common.schema import Range
from accord.models.data import State
from accord.models.encoder import LSTM, Encoder, Layers, VariationalDropout

HEAD = 64  # width of an attention head, where the layer is wide enough


class Transformer(Encoder):
    """Layers of attention to the last positions and feed-forward nets, norms before each.

    The state of a layer is its last reach − 1 inputs, normed. Positions enter by rotation (Su et
    al. 2021) and only as distances, so the pieces of a text are read as the whole is.
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        layers: int,
        dropout: float = 0.0,
        *,
        heads: Annotated[
            int | None, Range(ge=1), "of attention in a layer; null: one for each 64 units"
        ] = None,
        reach: Annotated[
            int, Range(ge=1), "positions that are attended to, the last one included"
        ] = 512,
    ):
        super().__init__()
        heads = max(1, hidden // HEAD) if heads is None else heads
        if hidden % (2 * heads):
            raise AccordError(f"hidden: expected a multiple of {2 * heads}, got {hidden}")
        self.into, self.out = nn.Linear(inputs, hidden), nn.Linear(hidden, outputs)
        self.layers: Layers[_TransformerLayer] = Layers(
            _TransformerLayer(hidden, dropout, heads, reach) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(hidden)

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        x, states = self.into(inputs), []
        for layer, (read,) in zip(self.layers, state, strict=True):
            x, layer_state = layer(x, read)
            states.append((layer_state,))
        return self.out(self.norm(x)), tuple(states)

    def initial_state(self, batch: int) -> State:
        return tuple(
            (layer.norm.weight.new_zeros(0, batch, layer.hidden),) for layer in self.layers
        )


class _TransformerLayer(nn.Module):
    """x + attention(norm(x)), then x + feed-forward(norm(x))."""

    def __init__(self, hidden: int, dropout: float, heads: int, reach: int):
        super().__init__()
        self.hidden, self.heads, self.reach = hidden, heads, reach
        self.norm = nn.LayerNorm(hidden)
        self.query, self.key_value = nn.Linear(hidden, hidden), nn.Linear(hidden, 2 * hidden)
        self.together = nn.Linear(hidden, hidden)
        self.forward_net = nn.Sequential(
            nn.LayerNorm(hidden),
            nn.Linear(hidden, 4 * hidden),
            nn.GELU(),
            VariationalDropout(dropout, every_step=True),
            nn.Linear(4 * hidden, hidden),
        )
        self.dropout = VariationalDropout(dropout, every_step=True)

    def forward(self, x: Tensor, earlier: Tensor) -> tuple[Tensor, Tensor]:
        normed = self.norm(x)
        read = torch.cat([earlier.to(normed.dtype), normed])
        x = x + self.dropout(self._attention(normed, read))
        return x + self.dropout(self.forward_net(x)), read[max(0, len(read) - self.reach + 1) :]

    def _attention(self, normed: Tensor, read: Tensor) -> Tensor:
        """Read, at each of the last T positions, all positions before it and within reach."""
        place = torch.arange(len(read), device=read.device)
        distance = place[len(read) - len(normed) :, None] - place
        key, value = self.key_value(read).chunk(2, dim=-1)
        attended = functional.scaled_dot_product_attention(
            _rotated(self._split(self.query(normed)), place[len(read) - len(normed) :]),
            _rotated(self._split(key), place),
            self._split(value),
            attn_mask=(distance >= 0) & (distance < self.reach),
        )
        return self.together(attended.permute(2, 0, 1, 3).flatten(start_dim=2))

    def _split(self, x: Tensor) -> Tensor:
        """Split (T × B × hidden) by heads: (B × heads × T × width)."""
        return x.unflatten(-1, (self.heads, -1)).permute(1, 2, 0, 3)


def _rotated(x: Tensor, place: Tensor) -> Tensor:
    """Turn pairs of coordinates by an angle that grows with the position, at many speeds."""
    half = x.shape[-1] // 2
    speed = 10_000 ** -(torch.arange(half, device=x.device) / half)
    angle = place[:, None] * speed
    sine, cosine = angle.sin().to(x.dtype), angle.cos().to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], dim=-1)


@about(hidden="between layers")
class Window(Encoder):
    """The feed-forward model of Bengio et al. (2003): h_t sees the last inputs only."""

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        layers: int,
        dropout: float = 0.0,
        *,
        order: Annotated[int, Range(ge=1), "words that are read, the last one included"] = 4,
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
        weight = next(self.parameters())
        return ((weight.new_zeros(self.order - 1, batch, self.inputs),),)


@about(hidden="between layers")
class LSTMWindow(Encoder):
    """An LSTM over the last words alone, from an empty state: a sequence length that is fixed.

    So Keras reads sequences of one length, each of which ends before the word that it predicts. A
    word costs `order` steps instead of one, those of all words at once. A text's first words have
    fewer before them, and are read from the first. Windows are no sequence of which units could be
    dropped alike: between layers each step drops its own.
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        layers: int,
        dropout: float = 0.0,
        *,
        order: Annotated[int, Range(ge=1), "words that are read, the last one included"] = 8,
    ):
        super().__init__()
        self.inputs, self.order = inputs, order
        self.within = _WindowLSTM(inputs, hidden, outputs, layers)
        self.within.dropout = _WindowDropout(dropout, every_step=True)

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        # Beside each input a 1, so that what is before the text can be told from it.
        seen = torch.cat([state[0][0], nn.functional.pad(inputs, (0, 1), value=1.0)])
        windows = seen.unfold(0, self.order, 1).permute(3, 0, 1, 2).flatten(1, 2)
        length = windows[:, :, -1].detach().sum(dim=0).long()  # (T·B)
        # From its first word on, as the state before it is empty; what follows is not asked for.
        place = torch.arange(self.order, device=inputs.device).unsqueeze(1)
        places = (place + self.order - length).clamp(max=self.order - 1).unsqueeze(2)
        read = windows[:, :, :-1].gather(0, places.expand(-1, -1, self.inputs))
        self.within.dropout.texts = inputs.shape[1]
        outputs, _ = self.within(read, self.within.initial_state(read.shape[1]))
        last = (length - 1).view(1, -1, 1).expand(-1, -1, outputs.shape[2])
        h = outputs.gather(0, last).view(*inputs.shape[:2], -1)
        return h, ((seen[len(seen) - self.order + 1 :],),)

    def initial_state(self, batch: int) -> State:
        weight = next(self.within.parameters())
        return ((weight.new_zeros(self.order - 1, batch, self.inputs + 1),),)


class _WindowDropout(VariationalDropout):
    """Of windows (order × T·B × D), each step of which drops its own, drawn for all B texts."""

    texts = 1

    def forward(self, windows: Tensor) -> Tensor:
        steps = windows.unflatten(1, (-1, self.texts)).flatten(0, 1)
        return super().forward(steps).view_as(windows)


class _WindowLSTM(LSTM):
    dropout: _WindowDropout


@about(hidden="none")
class Linear(Encoder):
    """A log-linear model without a network, the other limit of the LL-RNN: h_t = M·ψ_t.

    Words before the last one are forgotten, and there is no nonlinearity: with the adaptor, log p =
    log b + ψ·A·φ − log Z, the matrix A being of the rank of h.
    """

    def __init__(self, inputs: int, hidden: int, outputs: int, layers: int, dropout: float = 0.0):
        super().__init__()
        self.map = nn.Linear(inputs, outputs, bias=False)

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        return self.map(inputs), state

    def initial_state(self, batch: int) -> State:
        return ()
