"""Encoders of the field, and ψ of a word from its letters."""

from collections.abc import Callable
from functools import partial
from itertools import count, pairwise
from typing import Annotated

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from accord.errors import AccordError
from accord.models.common.checks import check_words
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
    WordEmbedding,
    WordsRead,
    in_full_precision,
)

LayerState = tuple[Tensor, ...]


class _Stack(Stacked):
    """Layers on top of each other, all but the last `hidden` wide."""

    def __init__(self, layer: Callable, inputs, hidden, outputs, layers, dropout=0.0):
        super().__init__()
        widths = pairwise([inputs, *[hidden] * (layers - 1), outputs])
        self.layers = Layers(layer(*pair) for pair in widths)
        self.dropout = VariationalDropout(dropout)


class Jordan(_Stack):
    """Recurrence from the output: z_t = tanh(W·ψ_t + U·h_{t−1} + c), h_t = V·z_t.

    Where Elman's network remembers its hidden units z, this one remembers only what it said, h;
    V is what the output layer compares words with, or what the next layer reads.
    """

    def __init__(self, hidden: int, **shape):
        super().__init__(partial(_JordanLayer, hidden=hidden), hidden=hidden, **shape)


class _JordanLayer(StackedLayer):
    def __init__(self, inputs: int, outputs: int, hidden: int):
        super().__init__()
        self.read = nn.Linear(inputs, hidden)
        self.back = nn.Linear(outputs, hidden, bias=False)
        self.said = nn.Linear(hidden, outputs)

    def forward(self, inputs: Tensor, state: LayerState) -> tuple[Tensor, LayerState]:
        output, outputs = state[0][0], []
        for read in self.read(inputs):
            output = self.said((read + self.back(output)).tanh())
            outputs.append(output)
        return torch.stack(outputs), (output.unsqueeze(0),)

    def initial_state(self, batch: int) -> LayerState:
        return (self.said.weight.new_zeros(1, batch, self.said.out_features),)


Slow = Annotated[int, Range(ge=1), "units of the slow context"]
Alpha = Annotated[float, Range(ge=0, lt=1), "how much of it is kept from word to word"]


class SCRN(_Stack):
    """Slow context units beside Elman's (Mikolov et al. 2015).

        s_t = (1 − α)·B·ψ_t + α·s_{t−1}
        z_t = tanh(A·ψ_t + P·s_t + R·z_{t−1} + c),    h_t = U·z_t + V·s_t

    s is a mean of what was read that fades by α, which is not learned: what it holds of a word is
    there after a hundred others, and its gradient does not vanish faster than that.
    """

    def __init__(
        self, hidden, weight_dropout=0.0, *, slow: Slow = 40, alpha: Alpha = 0.95, **shape
    ):
        settings = {"hidden": hidden, "weight_dropout": weight_dropout, "slow": slow}
        super().__init__(partial(_ScrnLayer, **settings, alpha=alpha), hidden=hidden, **shape)


class _ScrnLayer(StackedLayer):
    def __init__(self, inputs, outputs, hidden, weight_dropout, slow, alpha):
        super().__init__()
        self.alpha = alpha
        self.into_slow = nn.Linear(inputs, slow, bias=False)
        self.fast = RecurrentLayer("elman", inputs + slow, hidden, weight_dropout)
        self.out = nn.Linear(hidden + slow, outputs)

    def forward(self, inputs: Tensor, state: LayerState) -> tuple[Tensor, LayerState]:
        context, *fast = state
        inputs = inputs.to(context.dtype)  # which autocast may have made another, below
        slow = self._slow(inputs, context).to(context.dtype)
        z, fast = self.fast(torch.cat([inputs, slow], dim=-1), tuple(fast))
        h = self.out(torch.cat([z, slow.to(z.dtype)], dim=-1))
        return h, (slow[-1:], *fast)

    def _slow(self, inputs: Tensor, context: Tensor) -> Tensor:
        """Compute all steps at once, each input weighed by its age: (T × B × slow)."""
        read = (1 - self.alpha) * self.into_slow(inputs)
        step = torch.arange(len(inputs), device=inputs.device)
        age = step.unsqueeze(1) - step
        weight = (self.alpha ** age.clamp(min=0)).tril().to(read.dtype)
        kept = self.alpha ** (step + 1).view(-1, 1, 1)
        return torch.einsum("ts,sbu->tbu", weight, read) + kept * context

    def initial_state(self, batch: int) -> LayerState:
        weight = self.into_slow.weight
        return weight.new_zeros(1, batch, len(weight)), *self.fast.initial_state(batch)


MOST_ROUNDS = 100  # the paper's best are five or six; a folder from elsewhere may ask for any
Rounds = Annotated[int, Range(ge=0, le=MOST_ROUNDS), "of gating, input and state in turn"]


@about(hidden="between layers")
class Mogrifier(_Stack):
    """An LSTM whose input and state gate each other in rounds before each step.

    With x⁻¹ = ψ_t and h⁰ = h_{t−1}, for i = 1, 2… rounds

        x^i = 2σ(Q^i·h^{i−1}) ⊙ x^{i−2}  for odd i,    h^i = 2σ(R^i·x^{i−1}) ⊙ h^{i−2}  for even i

    and the LSTM reads the last x and h. Without rounds it is the LSTM.
    """

    def __init__(self, weight_dropout=0.0, *, rounds: Rounds = 5, **shape):
        layer = partial(_MogrifierLayer, rounds=rounds, weight_dropout=weight_dropout)
        super().__init__(layer, **shape)


class _MogrifierLayer(StackedLayer):
    """One layer, step by step, as no fused kernel lets the input see the state."""

    def __init__(self, inputs: int, outputs: int, rounds: int, weight_dropout: float):
        super().__init__()
        self.outputs, self.weight_dropout = outputs, weight_dropout
        self.cell = nn.LSTMCell(inputs, outputs)
        sizes = (outputs, inputs), (inputs, outputs)
        self.gates = nn.ModuleList(nn.Linear(*sizes[number % 2]) for number in range(rounds))

    def forward(self, inputs: Tensor, state: LayerState) -> tuple[Tensor, LayerState]:
        cell = self.cell
        recurrent = functional.dropout(cell.weight_hh, self.weight_dropout, self.training)
        (h,), (c,) = state
        outputs = []
        for x in inputs:
            for number, gate in enumerate(self.gates):
                if number % 2:
                    h = 2 * gate(x).sigmoid() * h
                else:
                    x = 2 * gate(h).sigmoid() * x
            h, c = torch.lstm_cell(x, (h, c), cell.weight_ih, recurrent, cell.bias_ih, cell.bias_hh)
            outputs.append(h)
        return torch.stack(outputs), (h.unsqueeze(0), c.unsqueeze(0))

    def initial_state(self, batch: int) -> LayerState:
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

    def __init__(self, inputs: int, hidden: int, outputs: int, layers: int, dropout=0.0):
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
        states, new = [functional.rms_norm(inputs.detach(), inputs.shape[-1:])], []
        with torch.no_grad():
            for layer, layer_before in zip(self.layers, state, strict=True):
                outputs, layer_state = layer(states[-1], layer_before)
                states.append(outputs)
                new.append(layer_state)
        return self.readout(self.dropout(torch.cat(states[1:], dim=-1))), tuple(new)

    def initial_state(self, batch: int) -> State:
        return tuple(layer.initial_state(batch) for layer in self.layers)


def _sparse(units: int) -> Tensor:
    """Draw a sparse matrix whose spectral radius is at most RADIUS, and hardly less."""
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

    def __init__(self, inputs, hidden, outputs, layers, dropout=0.0, weight_dropout=0.0):
        super().__init__()
        self.below = RecurrentLayer("gru", inputs - 1, hidden, weight_dropout)
        self.above: Layers[RecurrentLayer] = Layers(
            RecurrentLayer("gru", hidden, hidden, weight_dropout) for _ in range(layers)
        )
        self.out = RecurrentLayer("lstm", 2 * hidden, outputs, weight_dropout)
        self.dropout = VariationalDropout(dropout)

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        letters, ends = inputs[..., :-1], inputs[..., -1] > 0
        (letter_state,), *slower, out = state
        fast = self._fast(letters, ends, letter_state)
        below = fast[-1:] * ends[-1:].logical_not().unsqueeze(2)
        fast = self.dropout(fast)
        slow, above = ticked(self.above, self.dropout, fast, ends, tuple(slower))
        outputs, out = self.out(torch.cat([fast, self.dropout(slow)], dim=-1), out)
        return outputs, ((below,), *above, out)

    def _fast(self, letters: Tensor, ends: Tensor, state: Tensor) -> Tensor:
        """Run the lower clock, which begins anew after each end: (T × B × H)."""
        steps, columns = ends.shape
        step = torch.arange(steps, device=ends.device).unsqueeze(1)
        begins = torch.where(ends, step + 1, 0).cummax(dim=0).values  # where the next word begins
        place = step - torch.cat([torch.zeros_like(begins[:1]), begins[:-1]])  # of a letter in it
        word = ends.cumsum(dim=0) - ends.long()
        # Each word by itself, the first ones of all columns going on from the state.
        number = (word * columns + torch.arange(columns, device=ends.device)).flatten()
        by_length = number.bincount().argsort(descending=True, stable=True)
        order = (place.flatten() * len(by_length) + by_length.argsort()[number]).argsort()
        sizes = place.flatten().bincount().cpu()  # how many words have a first letter, a second …
        start = functional.pad(state, (0, 0, 0, len(by_length) - columns))
        start = start[:, by_length[: sizes[0]]]
        fast = read_packed(self.below, letters.flatten(0, 1)[order], sizes, start)
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
    layers: Layers, dropout: nn.Module, read: Tensor, ticks: Tensor, state: State
) -> tuple[Tensor, State]:
    """Return the output of a slow clock at every step (T × B × H), and its state after them.

    It reads (T × B × D) only at the steps that `ticks` marks (T × B).
    """
    over = ticks.cumsum(dim=0)  # ticks so far
    most = int(over[-1].max())
    if not most:
        return state[-1][0].expand(len(read), -1, -1), state
    # The steps with a tick, first in each column; the others after them have no effect.
    chosen = ticks.logical_not().byte().argsort(dim=0, stable=True)[:most]
    outputs, new = _entries_at(read, chosen), []
    for number, (layer, (start,)) in enumerate(zip(layers, state, strict=True)):
        outputs, _ = layer(dropout(outputs) if number else outputs, (start,))
        shown = torch.cat([start.to(outputs.dtype), outputs])  # before the first tick, as it was
        new.append((_entries_at(shown, over[-1:]),))
    return _entries_at(shown, over), tuple(new)


Every = Annotated[int, Range(ge=1), "words in a window"]


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
        self, inputs, hidden, outputs, layers, dropout=0.0, weight_dropout=0.0, *, every: Every = 4
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


def _entries_at(sequence: Tensor, places: Tensor) -> Tensor:
    """Return the entries at positions of each column: (T × B × H), (N × B) → (N × B × H)."""
    return sequence.gather(0, places.unsqueeze(2).expand(-1, -1, sequence.shape[2]))


WIDTHS = range(1, 7)  # of the filters, in letters: those of the small model of Kim et al.
FILTERS = 25  # for each letter of a filter's width
LETTER = 16  # width of a letter's vector for the filters; 50 for the LSTM, as in Ling et al.
LETTER_LSTM = 50


class LetterEmbedding(WordEmbedding):
    """ψ(x) from the letters of x: words that are written alike in part are read alike in part.

    `spelled` (V × L) has the letters of each word by number, 0 after the last one.
    """

    spelled: Tensor

    def __init__(self, spelled: np.ndarray, letter: int):
        super().__init__()
        letters = torch.from_numpy(np.asarray(spelled, np.int64))
        self.register_buffer("spelled", letters, persistent=False)
        self.weight = nn.Parameter(torch.randn(int(letters.max()) + 1, letter) * letter**-0.5)

    def forward(self, words: Tensor) -> Tensor:
        check_words("words", words, len(self.spelled))
        read, places = words.unique(return_inverse=True)  # a word is read once, wherever it stands
        return functional.embedding(places, self._of_letters(self.spelled[read]))

    def _of_letters(self, letters: Tensor) -> Tensor:
        """Return a vector for each row of letters: (N × L) → (N × E)."""
        raise NotImplementedError

    def _vectors(self, letters: Tensor) -> Tensor:
        """Return a vector for each letter, and zeros after the last one: (N × L × letter)."""
        return functional.embedding(letters, self.weight) * (letters > 0).unsqueeze(2)


class LetterCNN(LetterEmbedding):
    """A convolutional net with a highway over the letters (Kim et al. 2016).

        y_f = max_i tanh(filter_f · letters i … i + w),    z = g ⊙ relu(H·y) + (1 − g) ⊙ y

    with the gate g = σ(T·y), which is nearly shut at first; ψ = P·z has the embedding's width.
    """

    def __init__(self, spelled: np.ndarray, size: int):
        super().__init__(spelled, LETTER)
        self.filters = nn.ModuleList(nn.Conv1d(LETTER, FILTERS * w, w) for w in WIDTHS)
        filters = FILTERS * sum(WIDTHS)
        self.gate, self.bent = nn.Linear(filters, filters), nn.Linear(filters, filters)
        nn.init.constant_(self.gate.bias, -2.0)
        self.out = nn.Linear(filters, size)

    def _of_letters(self, letters: Tensor) -> Tensor:
        short = max(0, max(WIDTHS) - letters.shape[1])  # the widest filter must fit
        vectors = self._vectors(functional.pad(letters, (0, short))).transpose(1, 2)
        maxima = [convolve(vectors).amax(dim=2) for convolve in self.filters]
        read = torch.cat(maxima, dim=1).tanh()
        gate = self.gate(read).sigmoid()
        return self.out(gate * self.bent(read).relu() + (1 - gate) * read)


class LetterLSTM(LetterEmbedding):
    """Two LSTMs over the letters, one from each end (Ling et al. 2015).

    ψ = P·[→h; ←h] + c, with their states after the last letter that each reads.
    """

    def __init__(self, spelled: np.ndarray, size: int):
        super().__init__(spelled, LETTER_LSTM)
        self.both = nn.LSTM(LETTER_LSTM, size, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * size, size)

    def _of_letters(self, letters: Tensor) -> Tensor:
        lengths = (letters > 0).sum(dim=1).cpu()
        # In full precision, as not every kernel of a CPU has another.
        with torch.autocast(letters.device.type, enabled=False):
            packed = nn.utils.rnn.pack_padded_sequence(
                self._vectors(letters), lengths, batch_first=True, enforce_sorted=False
            )
            _, (h, _) = self.both(packed)
        return self.out(torch.cat([h[0], h[1]], dim=1))


@about(reads="letters")
def letters_cnn(read: WordsRead) -> LetterCNN:
    """Its letters (see featurise.letters), by a convolutional net with a highway."""
    return LetterCNN(_letters("letters-cnn", read), read.size)


@about(reads="letters")
def letters_lstm(read: WordsRead) -> LetterLSTM:
    """Its letters (see featurise.letters), by two LSTMs."""
    return LetterLSTM(_letters("letters-lstm", read), read.size)


def _letters(name: str, read: WordsRead) -> np.ndarray:
    """Return the letters of each word; an error without them, or if features are to be dropped."""
    if any(read.dropouts.values()):
        raise AccordError(
            f"input: {name} reads no features to drop; expected feature_dropout and vector_dropout "
            f"to be 0"
        )
    words, psi = read.features.vocabulary_size, read.psi
    if not isinstance(psi, np.ndarray) or len(psi) != words:
        count = len(psi) if isinstance(psi, np.ndarray) else "none"
        raise AccordError(
            f"input: {name} expects the letters of each of {words} words "
            f"(featurise.letters: true), got {count}"
        )
    return psi


Bag = Annotated[int, Range(ge=1), "words in the bag, the last one included"]


@about(hidden="between layers")
class CBOW(_Stack):
    """A bag of the last words, in no order: h_t = f(mean of ψ_t … ψ_{t−order+1}).

    Continuous bag of words (Mikolov et al. 2013; Goldberg 2017, §15.1 compares it with RNNs). f is
    a feed-forward net of `layers` layers. A text's first words have fewer before them, and the mean
    is over these.
    """

    def __init__(self, inputs: int, *, order: Bag = 8, **shape):
        super().__init__(nn.Linear, inputs, **shape)
        self.inputs, self.order = inputs, order

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        # Beside each input a 1, which counts the words of a bag.
        seen = torch.cat([state[0][0], functional.pad(inputs, (0, 1), value=1.0)])
        sums = seen.unfold(0, self.order, 1).sum(dim=-1)
        outputs = sums[..., :-1] / sums[..., -1:]
        for number, layer in enumerate(self.layers):
            outputs = layer(self.dropout(outputs) if number else outputs).tanh()
        return outputs, ((seen[len(seen) - self.order + 1 :],),)

    def initial_state(self, batch: int) -> State:
        weight = next(self.parameters())
        return ((weight.new_zeros(self.order - 1, batch, self.inputs + 1),),)


Width = Annotated[int, Range(ge=1), "words that a layer reads at each step"]


@about(hidden="between layers")
class Dilated(_Stack):
    """Causal convolutions over words, each layer with wider gaps than the one below.

        h^l_t = tanh(W^l·[h^{l−1}_t; h^{l−1}_{t−d}; … h^{l−1}_{t−(k−1)d}] + c),    d = k^(l−1)

    Dilated convolutions (Strubell et al. 2017; Goldberg 2017, §13.3). With a width of k, l layers
    see k^l words, each once. A layer whose output is as wide as its input adds its input (a
    residual connection).
    """

    def __init__(self, *, width: Width = 2, **shape):
        gaps = (width**number for number in count())
        super().__init__(lambda *pair: _Convolution(*pair, width, next(gaps)), **shape)


class _Convolution(StackedLayer):
    """One causal layer; its state is the inputs that are still within reach."""

    def __init__(self, inputs: int, outputs: int, width: int, gap: int):
        super().__init__()
        self.width, self.gap, self.inputs = width, gap, inputs
        self.map = nn.Linear(width * inputs, outputs)
        self.adds = inputs == outputs

    def forward(self, inputs: Tensor, state: LayerState) -> tuple[Tensor, LayerState]:
        (earlier,) = state
        seen = torch.cat([earlier.to(inputs.dtype), inputs])
        reach, distances = len(earlier), range(0, self.width * self.gap, self.gap)
        read = [seen[reach - back : len(seen) - back] for back in distances]
        outputs = self.map(torch.cat(read, dim=-1)).tanh()
        return outputs + inputs if self.adds else outputs, (seen[len(seen) - reach :],)

    def initial_state(self, batch: int) -> LayerState:
        reach = (self.width - 1) * self.gap
        return (self.map.weight.new_zeros(reach, batch, self.inputs),)
