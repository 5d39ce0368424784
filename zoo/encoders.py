"""Jordan, SCRN, Mogrifier, reservoir, hierarchical and subsampling encoders."""

from itertools import pairwise
from typing import Annotated

import torch
from torch import Tensor, nn
from torch.nn import functional

from accord.errors import AccordError
from accord.models.common.registry import about
from accord.models.common.schema import Range
from accord.models.data import State
from accord.models.encoder import (
    SINGLE,
    Encoder,
    Layers,
    RecurrentLayer,
    Stacked,
    StackedLayer,
    VariationalDropout,
    in_full_precision,
)


class Jordan(Stacked):
    """Recurrence from the output: z_t = tanh(W·ψ_t + U·h_{t−1} + c), h_t = V·z_t.

    Where Elman's network remembers its hidden units z, this one remembers only what it said, h;
    V is what the output layer compares words with, or what the next layer reads.
    """

    def __init__(self, inputs: int, hidden: int, outputs: int, layers: int, dropout: float = 0.0):
        super().__init__()
        widths = [inputs, *[hidden] * (layers - 1), outputs]
        self.layers = Layers(_JordanLayer(read, hidden, said) for read, said in pairwise(widths))
        self.dropout = VariationalDropout(dropout)


class _JordanLayer(StackedLayer):
    def __init__(self, inputs: int, hidden: int, outputs: int):
        super().__init__()
        self.read = nn.Linear(inputs, hidden)
        self.back = nn.Linear(outputs, hidden, bias=False)
        self.said = nn.Linear(hidden, outputs)

    def forward(self, inputs: Tensor, state: tuple[Tensor]) -> tuple[Tensor, tuple[Tensor]]:
        said, outputs = state[0][0], []
        for read in self.read(inputs):
            said = self.said((read + self.back(said)).tanh())
            outputs.append(said)
        return torch.stack(outputs), (said.unsqueeze(0),)

    def initial_state(self, batch: int) -> tuple[Tensor]:
        return (self.said.weight.new_zeros(1, batch, self.said.out_features),)


class SCRN(Stacked):
    """Slow context units beside Elman's (Mikolov et al. 2015).

        s_t = (1 − α)·B·ψ_t + α·s_{t−1}
        z_t = tanh(A·ψ_t + P·s_t + R·z_{t−1} + c),    h_t = U·z_t + V·s_t

    s is a mean of what was read that fades by α, which is not learned: what it holds of a word is
    there after a hundred others, and its gradient does not vanish faster than that.
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        layers: int,
        dropout: float = 0.0,
        weight_dropout: float = 0.0,
        *,
        slow: Annotated[int, Range(ge=1), "units of the slow context"] = 40,
        alpha: Annotated[float, "how much of it is kept from word to word"] = 0.95,
    ):
        super().__init__()
        if not 0 <= alpha < 1:
            raise AccordError(f"encoder: scrn.alpha: expected from 0 to under 1, got {alpha}")
        widths = [inputs, *[hidden] * (layers - 1), outputs]
        self.layers = Layers(
            _ScrnLayer(read, hidden, out, weight_dropout, slow, alpha)
            for read, out in pairwise(widths)
        )
        self.dropout = VariationalDropout(dropout)


class _ScrnLayer(StackedLayer):
    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        weight_dropout: float,
        slow: int,
        alpha: float,
    ):
        super().__init__()
        self.alpha = alpha
        self.into_slow = nn.Linear(inputs, slow, bias=False)
        self.fast = RecurrentLayer("elman", inputs + slow, hidden, weight_dropout)
        self.out = nn.Linear(hidden + slow, outputs)

    def forward(
        self, inputs: Tensor, state: tuple[Tensor, ...]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        before, *fast = state
        inputs = inputs.to(before.dtype)  # which autocast may have made another, below
        slow = self._slow(inputs, before).to(before.dtype)
        z, fast = self.fast(torch.cat([inputs, slow], dim=-1), tuple(fast))
        h = self.out(torch.cat([z, slow.to(z.dtype)], dim=-1))
        return h, (slow[-1:], *fast)

    def _slow(self, inputs: Tensor, before: Tensor) -> Tensor:
        """All steps at once, each input weighed by its age: (T × B × slow)."""
        read = (1 - self.alpha) * self.into_slow(inputs)
        step = torch.arange(len(inputs), device=inputs.device)
        age = step.unsqueeze(1) - step
        weight = (self.alpha ** age.clamp(min=0)).tril().to(read.dtype)
        kept = self.alpha ** (step + 1).view(-1, 1, 1)
        return torch.einsum("ts,sbu->tbu", weight, read) + kept * before

    def initial_state(self, batch: int) -> tuple[Tensor, ...]:
        weight = self.into_slow.weight
        return weight.new_zeros(1, batch, len(weight)), *self.fast.initial_state(batch)


MOST_ROUNDS = 100  # the paper's best are five or six; a folder from elsewhere may ask for any


@about(hidden="between layers")
class Mogrifier(Stacked):
    """An LSTM whose input and state gate each other in rounds before each step.

    With x⁻¹ = ψ_t and h⁰ = h_{t−1}, for i = 1, 2… rounds

        x^i = 2σ(Q^i·h^{i−1}) ⊙ x^{i−2}  for odd i,    h^i = 2σ(R^i·x^{i−1}) ⊙ h^{i−2}  for even i

    and the LSTM reads the last x and h. Without rounds it is the LSTM.
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        layers: int,
        dropout: float = 0.0,
        weight_dropout: float = 0.0,
        *,
        rounds: Annotated[int, "of gating, input and state in turn"] = 5,
    ):
        super().__init__()
        if not 0 <= rounds <= MOST_ROUNDS:
            raise AccordError(
                f"encoder: mogrifier.rounds: expected 0 to {MOST_ROUNDS}, got {rounds:,}"
            )
        widths = [inputs, *[hidden] * (layers - 1), outputs]
        self.layers = Layers(
            _MogrifierLayer(*pair, rounds, weight_dropout) for pair in pairwise(widths)
        )
        self.dropout = VariationalDropout(dropout)


class _MogrifierLayer(StackedLayer):
    """One layer, step by step, as no fused kernel lets the input see the state."""

    def __init__(self, inputs: int, outputs: int, rounds: int, weight_dropout: float):
        super().__init__()
        self.outputs, self.weight_dropout = outputs, weight_dropout
        self.cell = nn.LSTMCell(inputs, outputs)
        sizes = [
            (outputs, inputs) if number % 2 == 0 else (inputs, outputs) for number in range(rounds)
        ]
        self.gates = nn.ModuleList(nn.Linear(*size) for size in sizes)

    def forward(
        self, inputs: Tensor, state: tuple[Tensor, ...]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        recurrent = nn.functional.dropout(self.cell.weight_hh, self.weight_dropout, self.training)
        (h,), (c,) = state
        outputs = []
        for x in inputs:
            h, c = self._step(x, h, c, recurrent)
            outputs.append(h)
        return torch.stack(outputs), (h.unsqueeze(0), c.unsqueeze(0))

    def _step(self, x: Tensor, h: Tensor, c: Tensor, recurrent: Tensor) -> tuple[Tensor, Tensor]:
        for number, gate in enumerate(self.gates):
            if number % 2:
                h = 2 * gate(x).sigmoid() * h
            else:
                x = 2 * gate(h).sigmoid() * x
        cell = self.cell
        return torch.lstm_cell(x, (h, c), cell.weight_ih, recurrent, cell.bias_ih, cell.bias_hh)

    def initial_state(self, batch: int) -> tuple[Tensor, ...]:
        zeros = self.cell.weight_hh.new_zeros(1, batch, self.outputs)
        return zeros, zeros


RADIUS = 0.95  # of the spectrum: below 1 the state forgets how it began
CONNECTIONS = 10  # that a unit has from others


class Reservoir(Encoder):
    """A recurrent net that is drawn and not trained, but for the readout from its states.

        x_t = tanh(W_in·ψ_t + W·x_{t−1}),    h_t = R·x_t,    W sparse, of spectral radius below 1

    W_in and W are drawn and never trained, and no gradient reaches ψ through them: only the
    readout R and what comes after it learn. ψ is brought to one scale. Of several reservoirs
    each reads the states of the one below, and R reads all.
    """

    def __init__(self, inputs: int, hidden: int, outputs: int, layers: int, dropout: float = 0.0):
        super().__init__()
        widths = [inputs, *[hidden] * (layers - 1)]
        self.layers: Layers[RecurrentLayer] = Layers(
            RecurrentLayer("elman", width, hidden) for width in widths
        )
        for layer in self.layers:
            layer.requires_grad_(False)
            layer.recurrent_weight.copy_(_sparse(hidden))
            for weight in (layer.input_weight, layer.input_bias):
                weight.normal_(std=1 if weight.ndim == 1 else weight.shape[1] ** -0.5)
            layer.recurrent_bias.zero_()
        self.dropout = VariationalDropout(dropout, every_step=True)
        self.readout = nn.Linear(layers * hidden, outputs)

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        states, after = [functional.rms_norm(inputs.detach(), inputs.shape[-1:])], []
        with torch.no_grad():
            for layer, before in zip(self.layers, state, strict=True):
                outputs, layer_state = layer(states[-1], before)
                states.append(outputs)
                after.append(layer_state)
        return self.readout(self.dropout(torch.cat(states[1:], dim=-1))), tuple(after)

    def initial_state(self, batch: int) -> State:
        return tuple(layer.initial_state(batch) for layer in self.layers)


def _sparse(units: int) -> Tensor:
    """A random sparse matrix whose spectral radius is at most RADIUS, and hardly less."""
    present = torch.rand(units, units) < CONNECTIONS / units
    matrix = torch.randn(units, units) * present * CONNECTIONS**-0.5
    # ‖W^k‖^(1/k) bounds the radius from above, and comes down to it as k grows: here to 64.
    norm = torch.linalg.matrix_norm(matrix)
    power, log_bound = matrix / norm, norm.log()
    for doubled in range(1, 7):
        power = power @ power
        norm = torch.linalg.matrix_norm(power)
        power, log_bound = power / norm, log_bound + norm.log() / 2**doubled
    return matrix * (RADIUS / log_bound.exp())


@about(reads="ends of words")
class Hierarchical(Encoder):
    """Two clocks, for models of letters or pieces: the upper one ticks where a word ends.

    After Hwang & Sung (2017), with GRUs for both clocks and an LSTM that reads them:

        f_t = below(ψ_t, f_{t−1}), from nothing where a word begins
        s_t = above(f_t, s_{t−1}) where a word ends, else s_{t−1}
        h_t = out([f_t; s_t], h_{t−1})

    So a word is one step of the upper clock, and what is some words back is as few steps away; and
    all words are spelled side by side, in as many steps as the longest has letters. The last of the
    inputs is no part of ψ: it is above 0 where a word ends. `layers` are those of the upper clock.
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        layers: int,
        dropout: float = 0.0,
        weight_dropout: float = 0.0,
    ):
        super().__init__()
        self.below = RecurrentLayer("gru", inputs - 1, hidden, weight_dropout)
        self.above: Layers[RecurrentLayer] = Layers(
            RecurrentLayer("gru", hidden, hidden, weight_dropout) for _ in range(layers)
        )
        self.out = RecurrentLayer("lstm", 2 * hidden, outputs, weight_dropout)
        self.dropout = VariationalDropout(dropout)

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        letters, ends = inputs[..., :-1], inputs[..., -1] > 0
        (before,), *slower, out = state
        fast = self._fast(letters, ends, before)
        below = fast[-1:] * ends[-1:].logical_not().unsqueeze(2)
        fast = self.dropout(fast)
        slow, above = ticked(self.above, self.dropout, fast, ends, tuple(slower))
        outputs, out = self.out(torch.cat([fast, self.dropout(slow)], dim=-1), out)
        return outputs, ((below,), *above, out)

    def _fast(self, letters: Tensor, ends: Tensor, state: Tensor) -> Tensor:
        """The lower clock, which begins anew after each end: (T × B × H)."""
        steps, columns = ends.shape
        step = torch.arange(steps, device=ends.device).unsqueeze(1)
        after = torch.where(ends, step + 1, 0).cummax(dim=0).values  # where the next word begins
        place = step - torch.cat([torch.zeros_like(after[:1]), after[:-1]])  # of a letter in it
        word = ends.cumsum(dim=0) - ends.long()
        # Each word by itself, the first ones of all columns going on from the state.
        own = (word * columns + torch.arange(columns, device=ends.device)).flatten()
        by_length = own.bincount().argsort(descending=True, stable=True)
        order = (place.flatten() * len(by_length) + by_length.argsort()[own]).argsort()
        sizes = place.flatten().bincount().cpu()  # how many words have a first letter, a second …
        before = nn.functional.pad(state, (0, 0, 0, len(by_length) - columns))
        before = before[:, by_length[: sizes[0]]]
        fast = read_packed(self.below, letters.flatten(0, 1)[order], sizes, before)
        return fast[order.argsort()].unflatten(0, ends.shape)

    def initial_state(self, batch: int) -> State:
        return tuple(layer.initial_state(batch) for layer in (self.below, *self.above, self.out))


def read_packed(layer: RecurrentLayer, inputs: Tensor, sizes: Tensor, state: Tensor) -> Tensor:
    """Return outputs for sequences of many lengths, the longest first.

    The inputs (N × E) are those of all first steps, of all second ones and so on; `sizes` has
    their numbers. Not for an LSTM, which has two states.
    """
    with in_full_precision(inputs.device.type):
        inputs, state = (part.to(layer.recurrent_weight.dtype) for part in (inputs, state))
        kernel, weights = layer.kernels[layer.name], layer.weights()
        return kernel(inputs, sizes, state, weights, *SINGLE, layer.training, False)[0]


def ticked(
    layers: Layers[RecurrentLayer],
    dropout: VariationalDropout,
    read: Tensor,
    ticks: Tensor,
    state: State,
) -> tuple[Tensor, State]:
    """The output of a slow clock at every step (T × B × H), and its state after them.

    It reads (T × B × D) only at the steps that `ticks` marks (T × B).
    """
    over = ticks.cumsum(dim=0)  # ticks so far
    most = int(over[-1].max())
    if not most:
        return state[-1][0].expand(len(read), -1, -1), state
    # The steps with a tick, first in each column; the others after them have no effect.
    chosen = ticks.logical_not().byte().argsort(dim=0, stable=True)[:most]
    outputs, after = _at(read, chosen), []
    for number, (layer, (before,)) in enumerate(zip(layers, state, strict=True)):
        outputs, _ = layer(dropout(outputs) if number else outputs, (before,))
        shown = torch.cat([before.to(outputs.dtype), outputs])  # before the first tick, as it was
        after.append((_at(shown, over[-1:]),))
    return _at(shown, over), tuple(after)


class Subsampling(Encoder):
    """Hierarchical subsampling (Graves 2012): a slow network reads windows of a fast one.

        f_t = LSTM(ψ_t, f_{t−1})
        s_t = GRU([f_{t−k+1}; … f_t], s_{t−1}) at every k-th word, else s_{t−1}
        h_t = tanh(V·[f_t; s_t] + c)

    Windows do not overlap: the slow network makes a k-th of the steps, and words far back are fewer
    steps away. `layers` − 1 of the layers are slow, at least one.
    """

    has_fixed_shapes = False

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        layers: int,
        dropout: float = 0.0,
        weight_dropout: float = 0.0,
        *,
        every: Annotated[int, Range(ge=1), "words in a window"] = 4,
    ):
        super().__init__()
        self.every = every
        self.fast = RecurrentLayer("lstm", inputs, hidden, weight_dropout)
        widths = [every * hidden, *[hidden] * max(1, layers - 1)]
        self.slow: Layers[RecurrentLayer] = Layers(
            RecurrentLayer("gru", *pair, weight_dropout) for pair in pairwise(widths)
        )
        self.out = nn.Linear(2 * hidden, outputs)
        self.dropout = VariationalDropout(dropout)

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        fast, (count, window), *slow = state
        outputs, fast = self.fast(inputs, fast)
        seen = torch.cat([window, self.dropout(outputs)])
        windows = seen.unfold(0, self.every, 1).transpose(2, 3).flatten(start_dim=2)
        count = count + torch.arange(1, len(inputs) + 1, device=inputs.device).view(-1, 1, 1)
        ticks = (count % self.every == 0).squeeze(2)
        shown, of_slow = ticked(self.slow, self.dropout, windows, ticks, tuple(slow))
        read = torch.cat([seen[self.every - 1 :], self.dropout(shown)], dim=-1)
        kept = count[-1:] % self.every, seen[len(seen) - self.every + 1 :]
        return self.out(read).tanh(), (fast, kept, *of_slow)

    def initial_state(self, batch: int) -> State:
        zeros = self.out.weight.new_zeros
        window = zeros(1, batch, 1), zeros(self.every - 1, batch, self.fast.outputs)
        of_slow = (layer.initial_state(batch) for layer in self.slow)
        return self.fast.initial_state(batch), window, *of_slow


def _at(sequence: Tensor, places: Tensor) -> Tensor:
    """The entries at some positions of each column: (T × B × H) and (N × B) → (N × B × H)."""
    return sequence.gather(0, places.unsqueeze(2).expand(-1, -1, sequence.shape[2]))
