"""Other ways to read: ψ of a word from its letters, and encoders that keep no recurrent state.

These see the last words alone: a bag of them (CBOW) or dilated convolutions.
"""

from itertools import pairwise
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
    Encoder,
    Layers,
    StackedLayer,
    VariationalDropout,
    WordEmbedding,
    WordsRead,
)

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
        """A vector for each row of letters: (N × L) → (N × E)."""
        raise NotImplementedError

    def _vectors(self, letters: Tensor) -> Tensor:
        """A vector for each letter, and nothing after the last one: (N × L × letter)."""
        return functional.embedding(letters, self.weight) * (letters > 0).unsqueeze(2)


class LetterCNN(LetterEmbedding):
    """A convolutional net with a highway over the letters (Kim et al. 2016).

        y_f = max_i tanh(filter_f · letters i … i + w),    z = g ⊙ relu(H·y) + (1 − g) ⊙ y

    with the gate g = σ(T·y), which is nearly shut at first; ψ = P·z has the embedding's width.
    """

    def __init__(self, spelled: np.ndarray, size: int):
        super().__init__(spelled, LETTER)
        self.filters = nn.ModuleList(nn.Conv1d(LETTER, FILTERS * w, w) for w in WIDTHS)
        found = FILTERS * sum(WIDTHS)
        self.gate, self.bent = nn.Linear(found, found), nn.Linear(found, found)
        nn.init.constant_(self.gate.bias, -2.0)
        self.out = nn.Linear(found, size)

    def _of_letters(self, letters: Tensor) -> Tensor:
        short = max(0, max(WIDTHS) - letters.shape[1])  # the widest filter must fit
        vectors = self._vectors(functional.pad(letters, (0, short))).transpose(1, 2)
        found = torch.cat([each(vectors).amax(dim=2) for each in self.filters], dim=1).tanh()
        gate = self.gate(found).sigmoid()
        return self.out(gate * self.bent(found).relu() + (1 - gate) * found)


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
    """The letters of each word, refused where they are not there, or features are to be dropped."""
    if any(read.dropouts.values()):
        raise AccordError(
            f"input: {name} reads no features to drop; expected feature_dropout and vector_dropout "
            f"to be 0"
        )
    words, psi = read.features.vocabulary_size, read.psi
    if not isinstance(psi, np.ndarray) or len(psi) != words:
        found = len(psi) if isinstance(psi, np.ndarray) else "none"
        raise AccordError(
            f"input: {name} expects the letters of each of {words} words "
            f"(featurise.letters: true), got {found}"
        )
    return psi


@about(hidden="between layers")
class CBOW(Encoder):
    """A bag of the last words, in no order: h_t = f(mean of ψ_t … ψ_{t−order+1}).

    Continuous bag of words (Mikolov et al. 2013; Goldberg 2017, §15.1 compares it with RNNs). f is
    a feed-forward net of `layers` layers. A text's first words have fewer before them, and the mean
    is over these.
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        layers: int,
        dropout: float = 0.0,
        *,
        order: Annotated[int, Range(ge=1), "words in the bag, the last one included"] = 8,
    ):
        super().__init__()
        self.inputs, self.order = inputs, order
        widths = [inputs, *[hidden] * (layers - 1), outputs]
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(widths))
        self.dropout = VariationalDropout(dropout)

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        # Beside each input a 1, which counts the words of a bag.
        seen = torch.cat([state[0][0], nn.functional.pad(inputs, (0, 1), value=1.0)])
        sums = seen.unfold(0, self.order, 1).sum(dim=-1)
        outputs = sums[..., :-1] / sums[..., -1:]
        for number, layer in enumerate(self.layers):
            outputs = layer(self.dropout(outputs) if number else outputs).tanh()
        return outputs, ((seen[len(seen) - self.order + 1 :],),)

    def initial_state(self, batch: int) -> State:
        weight = next(self.parameters())
        return ((weight.new_zeros(self.order - 1, batch, self.inputs + 1),),)


@about(hidden="between layers")
class Dilated(Encoder):
    """Causal convolutions over words, each layer with wider gaps than the one below.

        h^l_t = tanh(W^l·[h^{l−1}_t; h^{l−1}_{t−d}; … h^{l−1}_{t−(k−1)d}] + c),    d = k^(l−1)

    Dilated convolutions (Strubell et al. 2017; Goldberg 2017, §13.3). With a width of k, l layers
    see k^l words, each once. A layer whose output is as wide as its input adds its input (a
    residual connection).
    """

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        layers: int,
        dropout: float = 0.0,
        *,
        width: Annotated[int, Range(ge=1), "words that a layer reads at each step"] = 2,
    ):
        super().__init__()
        widths = [inputs, *[hidden] * (layers - 1), outputs]
        self.layers: Layers[_Convolution] = Layers(
            _Convolution(*pair, width, width**number)
            for number, pair in enumerate(pairwise(widths))
        )
        self.dropout = VariationalDropout(dropout)

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        after = []
        for number, (layer, (before,)) in enumerate(zip(self.layers, state, strict=True)):
            inputs, layer_state = layer(self.dropout(inputs) if number else inputs, before)
            after.append((layer_state,))
        return inputs, tuple(after)

    def initial_state(self, batch: int) -> State:
        return tuple(layer.initial_state(batch) for layer in self.layers)


class _Convolution(StackedLayer):
    """One causal layer; its state is the inputs that are still within reach."""

    def __init__(self, inputs: int, outputs: int, width: int, gap: int):
        super().__init__()
        self.width, self.gap, self.inputs = width, gap, inputs
        self.map = nn.Linear(width * inputs, outputs)
        self.adds = inputs == outputs

    def forward(self, inputs: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        seen = torch.cat([before.to(inputs.dtype), inputs])
        reach = len(before)
        read = [seen[reach - back : len(seen) - back] for back in self._back]
        outputs = self.map(torch.cat(read, dim=-1)).tanh()
        return outputs + inputs if self.adds else outputs, seen[len(seen) - reach :]

    @property
    def _back(self) -> range:
        """How far back the words are that it reads."""
        return range(0, self.width * self.gap, self.gap)

    def initial_state(self, batch: int) -> tuple[Tensor, ...]:
        reach = (self.width - 1) * self.gap
        return (self.map.weight.new_zeros(reach, batch, self.inputs),)
