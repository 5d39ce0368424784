"""Encoders without recurrence: Transformer, window, LSTM over a window, linear."""

from itertools import pairwise
from typing import Annotated, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from accord.errors import AccordError
from accord.models.common.registry import about
from accord.models.common.schema import Range
from accord.models.data import Packed, State
from accord.models.encoder import LSTM, Encoder, Layers, VariationalDropout

QUERY_GAIN = 1.44  # of normed queries and keys at first: 1.2 of each
HALF_PRECISION = (torch.bfloat16, torch.float16)  # for which GPUs have kernels of packed texts


@about(reads="packed documents")
class Transformer(Encoder):
    """Layers of attention to the last positions and feed-forward nets, their inputs normed.

        x ← x + O·attention(norm(x)),    x ← x + D·relu(U·norm(x))²,    x ← x + λ·x_0
        attention_t = Σ_s softmax_s(g·norm(q_t)·norm(k_s)/√w)·v_s,    norm(x) = x/√mean(x²)

    x_0 are the inputs; λ, a number for each layer, begins at zero, and so do O and D: at first the
    network repeats its inputs. Positions enter by rotating q and k (Su et al. 2021) and only as
    distances, so the pieces of a text are read as the whole is. The state of a layer is the keys
    and values of the last reach − 1 positions.
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        layers: int,
        dropout: float = 0.0,
        *,
        head_width: Annotated[
            int, Range(ge=2), "units of an attention head; narrower layers have one head"
        ] = 128,
        reach: Annotated[
            int, Range(ge=1), "positions that are attended to, the last one included"
        ] = 512,
    ):
        super().__init__()
        heads = max(1, hidden // head_width)
        if hidden % (2 * heads):
            raise AccordError(f"hidden: expected a multiple of {2 * heads}, got {hidden}")
        self.into, self.out = _resized(inputs, hidden), _resized(hidden, outputs)
        self.layers: Layers[_TransformerLayer] = Layers(
            _TransformerLayer(hidden, dropout, heads, reach) for _ in range(layers)
        )

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        x = x_0 = norm(self.into(inputs))
        states = []
        for layer, (keys, values) in zip(self.layers, state, strict=True):
            x, layer_state = layer(x, x_0, (keys, values))
            states.append(layer_state)
        return self.out(norm(x)), tuple(states)

    def read_packed(self, inputs: Tensor, packed: Packed) -> Tensor:
        """Return the outputs for texts that follow each other in one column (N × 1 × E)."""
        x = x_0 = norm(self.into(inputs))
        for layer in self.layers:
            x, _ = layer(x, x_0, packed)
        return self.out(norm(x))

    def initial_state(self, batch: int) -> State:
        def empty(layer: _TransformerLayer) -> Tensor:
            return layer.output.weight.new_zeros(0, batch, layer.hidden)

        return tuple((empty(layer), empty(layer)) for layer in self.layers)


def _resized(inputs: int, outputs: int) -> nn.Module:
    """Return a linear map to another width, nothing for the same."""
    return nn.Identity() if inputs == outputs else nn.Linear(inputs, outputs, bias=False)


def norm(x: Tensor) -> Tensor:
    """Return x/√mean(x²) of the last dimension."""
    return functional.rms_norm(x, x.shape[-1:])


Cache = tuple[Tensor, Tensor]  # keys and values of the positions before (P × B × hidden)


class _TransformerLayer(nn.Module):
    """Attention, the feed-forward net, and the share of the inputs that is added again."""

    def __init__(self, hidden: int, dropout: float, heads: int, reach: int):
        super().__init__()
        self.hidden, self.heads, self.reach = hidden, heads, reach
        self.query_key_value = nn.Linear(hidden, 3 * hidden, bias=False)
        self.output = nn.Linear(hidden, hidden, bias=False)
        self.up = nn.Linear(hidden, 4 * hidden, bias=False)
        self.down = nn.Linear(4 * hidden, hidden, bias=False)
        for matrix in (self.query_key_value, self.up):
            nn.init.normal_(matrix.weight, std=0.5 * hidden**-0.5)
        for matrix in (self.output, self.down):
            nn.init.zeros_(matrix.weight)
        self.gain = nn.Parameter(torch.full((heads,), QUERY_GAIN))  # g of each head
        self.skip = nn.Parameter(torch.zeros(1))  # λ
        self.dropout = VariationalDropout(dropout, every_step=True)

    def forward(self, x: Tensor, x_0: Tensor, earlier: Cache | Packed) -> tuple[Tensor, Cache]:
        query, key, value = self._split(self.query_key_value(norm(x))).unbind(dim=-3)
        query, key = norm(query) * self.gain.unsqueeze(1), norm(key)
        if isinstance(earlier, Packed):
            attended, state = _attend_packed(query, key, value, earlier), (key, value)
        else:
            attended, state = self._attend(query, key, value, earlier)
        x = x + self.dropout(self.output(attended.flatten(start_dim=2)))
        x = x + self.dropout(self.down(functional.relu(self.up(norm(x))).square()))
        return x + self.skip.to(x.dtype) * x_0, state

    def _split(self, x: Tensor) -> Tensor:
        """Split the last dimension by kind and head: (T × B × 3 × heads × width)."""
        return x.unflatten(-1, (-1, self.heads, self.hidden // self.heads))

    def _attend(
        self, query: Tensor, key: Tensor, value: Tensor, earlier: Cache
    ) -> tuple[Tensor, Cache]:
        """Read, at each of the last T positions, all positions before it and within reach."""
        keys, values = (
            torch.cat([self._split(past.to(new.dtype)).squeeze(2), new])
            for past, new in zip(earlier, (key, value), strict=True)
        )
        place = torch.arange(len(keys), device=keys.device)
        distance = place[len(keys) - len(query) :, None] - place
        query, turned = rotated(query, place[len(keys) - len(query) :]), rotated(keys, place)
        q, k, v = (x.permute(1, 2, 0, 3) for x in (query, turned, values))  # B × heads × T × width
        is_seen = (distance >= 0) & (distance < self.reach)
        attended = functional.scaled_dot_product_attention(q, k, v, attn_mask=is_seen)
        kept = slice(max(0, len(keys) - self.reach + 1), None)
        state = keys[kept].flatten(start_dim=2), values[kept].flatten(start_dim=2)
        return attended.permute(2, 0, 1, 3), state


def _attend_packed(query: Tensor, key: Tensor, value: Tensor, packed: Packed) -> Tensor:
    """Read, at each position (N × 1 × heads × width), the positions of its text up to it."""
    query, key = rotated(query, packed.place), rotated(key, packed.place)
    if query.is_cuda and value.dtype in HALF_PRECISION:
        from torch.nn.attention.varlen import varlen_attn  # of new versions of torch

        query, key, value = (x.squeeze(1).to(value.dtype) for x in (query, key, value))
        starts, longest = packed.starts, packed.longest
        attended = varlen_attn(
            query, key, value, starts, starts, longest, longest, window_size=(-1, 0)
        )
        return cast("Tensor", attended).unsqueeze(1)
    lengths = [length for length in packed.starts.diff().tolist() if length]
    pieces = (x.permute(1, 2, 0, 3).split(lengths, dim=2) for x in (query, key, value))
    attended = torch.cat(
        [
            functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            for q, k, v in zip(*pieces, strict=True)
        ],
        dim=2,
    )
    return attended.permute(2, 0, 1, 3)


def rotated(x: Tensor, place: Tensor) -> Tensor:
    """Turn pairs of coordinates (T × B × heads × width) by the position, at many speeds."""
    half = x.shape[-1] // 2
    speed = 10_000 ** -(torch.arange(half, device=x.device) / half)
    angle = (place[:, None] * speed)[:, None, None]
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
