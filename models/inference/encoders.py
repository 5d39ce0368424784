"""The LSTM and the Transformer computed by numpy, equation by equation as their torch modules.

i, f, g, o = σ, σ, tanh, σ of W·ψ_t + U·h_{t−1} + c        encoder.py
c_t = f·c_{t−1} + i·g,    h_t = o·tanh(c_t)
x ← x + O·attention(norm(x)),  x ← x + D·relu(U·norm(x))²,  x ← x + λ·x_0        transformer.py
"""

from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from accord.models.common.arrays import Shapes, Weights
from accord.models.common.registry import parted
from accord.models.parts import ENCODERS
from accord.models.recipe import Recipe

State = Any  # of an encoder
QUERIES_AT_ONCE = 256  # positions whose scores of keys are held together
EPSILON = np.float32(np.finfo(np.float32).eps)  # added to mean squares, as torch does


class NumpyEncoder(Protocol):
    """An encoder over columns of words; arrays of a state have a row for each column."""

    def initial_state(self, columns: int) -> State:
        """Return the state before a text, for a number of columns."""

    def read(self, inputs: np.ndarray, state: State) -> tuple[np.ndarray, State]:
        """Return outputs (T × B × H) for inputs (T × B × E), and the state after them."""

    def columns(self, state: State, chosen: np.ndarray) -> State:
        """Return the chosen columns of a state."""


LayerState = tuple[np.ndarray, np.ndarray]  # h and c (B × H)


class LSTMLayer(NamedTuple):
    """One layer; each gate has H rows, in the order i, f, g, o."""

    input_weight: np.ndarray  # W (4H × E)
    recurrent_weight: np.ndarray  # U (4H × H)
    bias: np.ndarray  # c (4H)

    def read(self, inputs: np.ndarray, state: LayerState) -> tuple[np.ndarray, LayerState]:
        steps, columns, _ = inputs.shape
        # A large matrix times a narrow one is quicker than the other way round, so each state is a
        # column here.
        gates = self.input_weight @ inputs.reshape(steps * columns, -1).T + self.bias[:, None]
        gates = gates.reshape(-1, steps, columns)
        outputs = np.empty((steps, columns, self.recurrent_weight.shape[1]), np.float32)
        h, c = (part.T for part in state)
        for step in range(steps):
            now = gates[:, step]
            if h.any():  # before the first word h is zero, and so is the largest product
                now = now + self.recurrent_weight @ h
            i, f, g, o = np.split(now, 4)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            outputs[step] = h.T
        return outputs, (h.T, c.T)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Return σ(x) = (1 + tanh(x/2))/2, which overflows nowhere."""
    return 0.5 + 0.5 * np.tanh(0.5 * x)


class NumpyLSTM:
    """A stack of LSTM layers."""

    def __init__(self, recipe: Recipe, weights: Weights):
        self.layers = []
        for number in range(recipe.layers):
            parts = ("input_weight", "recurrent_weight", "input_bias", "recurrent_bias")
            read, recurrent, *biases = (weights[f"encoder.layers.{number}.{x}"] for x in parts)
            self.layers.append(LSTMLayer(read, recurrent, biases[0] + biases[1]))

    def initial_state(self, columns: int) -> list[LayerState]:
        widths = [layer.recurrent_weight.shape[1] for layer in self.layers]
        zeros = [np.zeros((columns, width), np.float32) for width in widths]
        return [(zero, zero) for zero in zeros]

    def read(
        self, inputs: np.ndarray, state: list[LayerState]
    ) -> tuple[np.ndarray, list[LayerState]]:
        h, states = inputs, []
        for layer, layer_state in zip(self.layers, state, strict=True):
            h, layer_state = layer.read(h, layer_state)
            states.append(layer_state)
        return h, states

    def columns(self, state: list[LayerState], chosen: np.ndarray) -> list[LayerState]:
        return [(h[chosen], c[chosen]) for h, c in state]

    @staticmethod
    def shapes(recipe: Recipe, outputs: int) -> Shapes:
        """Return the shapes of the weights by name."""
        shapes: Shapes = {}
        widths = [recipe.embedding, *[recipe.hidden] * (recipe.layers - 1), outputs]
        for number, (inputs, width) in enumerate(pairwise(widths)):
            name = f"encoder.layers.{number}."
            shapes[f"{name}input_weight"] = 4 * width, inputs
            shapes[f"{name}recurrent_weight"] = 4 * width, width
            shapes[f"{name}input_bias"] = shapes[f"{name}recurrent_bias"] = (4 * width,)
        return shapes


class ReadKeys(NamedTuple):
    """The state of a Transformer."""

    read: int  # words so far
    layers: list[tuple[np.ndarray, np.ndarray]]  # turned keys, and values (B × heads × P × width)


class NumpyTransformer:
    """Layers of attention and feed-forward nets; their matrices are kept transposed."""

    def __init__(self, recipe: Recipe, weights: Weights):
        settings = parted(ENCODERS.choose(recipe.encoder))[1]
        self.reach, self.heads = settings["reach"], heads(recipe)
        names = ("query_key_value", "output", "up", "down")
        self.layers = [
            tuple(weights[f"encoder.layers.{number}.{name}.weight"].T for name in names)
            for number in range(recipe.layers)
        ]
        each_layer = [f"encoder.layers.{number}." for number in range(recipe.layers)]
        self.gains = [weights[f"{name}gain"][:, None, None] for name in each_layer]
        self.skips = [weights[f"{name}skip"] for name in each_layer]
        self.into, self.out = (weights.get(f"encoder.{name}.weight") for name in ("into", "out"))
        self.width = recipe.hidden // self.heads

    def initial_state(self, columns: int) -> ReadKeys:
        empty = np.zeros((columns, self.heads, 0, self.width), np.float32)
        return ReadKeys(0, [(empty, empty)] * len(self.layers))

    def columns(self, state: ReadKeys, chosen: np.ndarray) -> ReadKeys:
        return ReadKeys(state.read, [(key[chosen], value[chosen]) for key, value in state.layers])

    def read(self, inputs: np.ndarray, state: ReadKeys) -> tuple[np.ndarray, ReadKeys]:
        steps, columns, _ = inputs.shape
        x = inputs.swapaxes(0, 1).reshape(columns * steps, -1)
        x = x_0 = norm(x if self.into is None else x @ self.into.T)
        turn, states = self._turn(state.read, steps), []
        weights = zip(self.layers, self.gains, self.skips, state.layers, strict=True)
        for (query_key_value, output, up, down), gain, skip, earlier in weights:
            parts = (norm(x) @ query_key_value).reshape(columns, steps, 3, self.heads, self.width)
            query, key, value = parts.transpose(2, 0, 3, 1, 4)  # each B × heads × T × width
            query, key = turned(norm(query) * gain, turn), turned(norm(key), turn)
            keys, values = (
                np.concatenate([past, new], axis=2)
                for past, new in zip(earlier, (key, value), strict=True)
            )
            attended = self._attend(query, keys, values)
            x = x + attended.transpose(0, 2, 1, 3).reshape(len(x), -1) @ output
            units = np.maximum(norm(x) @ up, 0)
            x = x + (units * units) @ down + skip * x_0
            kept = slice(max(0, keys.shape[2] - self.reach + 1), None)
            states.append((keys[:, :, kept], values[:, :, kept]))
        h = norm(x) if self.out is None else norm(x) @ self.out.T
        return h.reshape(columns, steps, -1).swapaxes(0, 1), ReadKeys(state.read + steps, states)

    def _attend(self, query: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Read, at each of the last T positions, all positions before it and within reach."""
        attended, offset = np.empty_like(query), keys.shape[2] - query.shape[2]
        for start in range(0, query.shape[2], QUERIES_AT_ONCE):
            stop = min(query.shape[2], start + QUERIES_AT_ONCE)
            seen = slice(max(0, offset + start - self.reach + 1), offset + stop)
            scores = query[:, :, start:stop] @ keys[:, :, seen].swapaxes(2, 3)
            scores *= np.float32(self.width**-0.5)
            if stop - start > 1 or seen.stop - seen.start > self.reach:
                place = np.arange(offset + start, offset + stop)[:, None]
                distance = place - np.arange(seen.start, seen.stop)
                scores[..., (distance < 0) | (distance >= self.reach)] = -np.inf
            scores -= scores.max(axis=3, keepdims=True)
            np.exp(scores, out=scores)
            scores /= scores.sum(axis=3, keepdims=True)
            attended[:, :, start:stop] = scores @ values[:, :, seen]
        return attended

    def _turn(self, first: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
        """Return sine and cosine of the angles by which positions are turned (T × width/2)."""
        half = self.width // 2
        speed = 10_000.0 ** -(np.arange(half) / half)
        angle = np.arange(first, first + steps)[:, None] * speed
        return np.sin(angle).astype(np.float32), np.cos(angle).astype(np.float32)

    @staticmethod
    def shapes(recipe: Recipe, outputs: int) -> Shapes:
        """Return the shapes of the weights by name."""
        shapes: Shapes = {}
        hidden = recipe.hidden
        if recipe.embedding != hidden:
            shapes["encoder.into.weight"] = hidden, recipe.embedding
        if outputs != hidden:
            shapes["encoder.out.weight"] = outputs, hidden
        for number in range(recipe.layers):
            name = f"encoder.layers.{number}."
            shapes[f"{name}gain"], shapes[f"{name}skip"] = (heads(recipe),), (1,)
            shapes[f"{name}query_key_value.weight"] = 3 * hidden, hidden
            shapes[f"{name}output.weight"] = hidden, hidden
            shapes[f"{name}up.weight"] = 4 * hidden, hidden
            shapes[f"{name}down.weight"] = hidden, 4 * hidden
        return shapes


def heads(recipe: Recipe) -> int:
    """Return the number of attention heads of each layer."""
    return max(1, recipe.hidden // parted(ENCODERS.choose(recipe.encoder))[1]["head_width"])


def norm(x: np.ndarray) -> np.ndarray:
    """Return x/√mean(x²) of the last dimension."""
    mean = np.einsum("...i,...i->...", x, x) / np.float32(x.shape[-1])
    return x / np.sqrt(mean + EPSILON)[..., None]


def turned(x: np.ndarray, turn: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Turn pairs of coordinates of each position (B × heads × T × width)."""
    (first, second), (sine, cosine) = np.split(x, 2, axis=-1), turn
    return np.concatenate([first * cosine - second * sine, first * sine + second * cosine], axis=-1)


KINDS: dict[str, Any] = {"lstm": NumpyLSTM, "transformer": NumpyTransformer}
