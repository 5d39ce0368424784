"""ψ and h_t: words read by their features; Elman, GRU, LSTM and IRNN layers, and their dropout."""

import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from accord.errors import AccordError
from accord.models.common.checks import check_words
from accord.models.common.registry import Choice, about, parted
from accord.models.data import Packed, State, in_a_row
from accord.models.gpu.processes import ProcessShare
from accord.models.parts import INPUTS
from accord.models.phi import Features, chosen_rows

PIECE = 64  # rows summed by one thread: else all would wait for the one feature of 6,000 signatures


class FeatureProduct(nn.Module):
    """W_s = Φ_s·W: each signature's row is the sum of its features' rows of W (F × E → S × E).

    Sparse features are summed row by row. Dense ones, if there are any, are one product of
    matrices, Φ_s·W = Φ_sparse·W_sparse + V_s·W_dense. The rows of words are never formed: a word
    is looked up by its signature.
    """

    dense: Tensor | None  # V_s (S × D)

    def __init__(self, features: Features):
        super().__init__()
        self.is_identity, self.feature_count = features.is_identity, features.feature_count
        self.sparse_count, self.signature_count = features.sparse_count, features.signature_count
        self.matrix = features.indptr, features.indices, features.values
        for prefix, bags in zip(("", "transposed_"), self._both_ways(*self.matrix), strict=True):
            for name, array in bags._asdict().items():
                self.register_buffer(prefix + name, array, persistent=False)
        rows = features.vectors[features.vector] if features.dimensions else None
        dense = None if rows is None else torch.from_numpy(rows)
        self.register_buffer("dense", dense, persistent=False)

    def forward(self, weight: Tensor, is_dense: Tensor | None = None) -> Tensor:
        """Return Φ_s·W; `is_dense` (S × 1) scales the dense block of each signature."""
        if self.is_identity:
            return weight
        rows = _BagSum.apply(weight[: self.sparse_count], self._bags, self._transposed)
        return rows if self.dense is None else self._with_dense(rows, weight, self.dense, is_dense)

    def of_signatures(
        self, weight: Tensor, signatures: Tensor, is_dense: Tensor | None = None
    ) -> Tensor:
        """Return the rows of different signatures at the price of these rows (CPU only)."""
        if self.is_identity:
            return functional.embedding(signatures, weight)
        bags = self._both_ways(*chosen_rows(*self.matrix, signatures.numpy()))
        rows = _BagSum.apply(weight[: self.sparse_count], *bags)
        if self.dense is None:
            return rows
        is_dense = None if is_dense is None else is_dense[signatures]
        return self._with_dense(rows, weight, self.dense[signatures], is_dense)

    def _with_dense(
        self, rows: Tensor, weight: Tensor, dense: Tensor, scale: Tensor | None
    ) -> Tensor:
        """Add the dense block to the rows of the sparse one."""
        dense = dense if scale is None else dense * scale
        with torch.autocast(weight.device.type, enabled=False):  # in the precision of the weights
            return rows + dense.to(weight.dtype) @ weight[self.sparse_count :]

    def transposed(self, rows: Tensor) -> Tensor:
        """Return Φ_sᵀ·R: from one row per signature to one per feature (S × E → F × E)."""
        if self.is_identity:
            return rows
        sums = _BagSum.apply(rows, self._transposed, self._bags)
        if self.dense is None:
            return sums
        return torch.cat([sums, self.dense.to(rows.dtype).T @ rows])

    def _both_ways(
        self, indptr: np.ndarray, indices: np.ndarray, values: np.ndarray
    ) -> tuple["_Bags", "_Bags"]:
        """Return rows of Φ as bags of features, and features as bags of these rows."""
        by_feature = np.argsort(indices, kind="stable")
        starts = np.searchsorted(indices[by_feature], np.arange(self.sparse_count))
        row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))[by_feature]
        bags = _in_pieces(indices, indptr[:-1], values)
        return bags, _in_pieces(row, starts, values[by_feature])

    @property
    def _bags(self) -> "_Bags":
        return _Bags(*(getattr(self, name) for name in _Bags._fields))

    @property
    def _transposed(self) -> "_Bags":
        return _Bags(*(getattr(self, f"transposed_{name}") for name in _Bags._fields))


class _Bags(NamedTuple):
    """A sparse matrix by rows, its long ones cut into pieces."""

    indices: Tensor
    values: Tensor
    pieces: Tensor  # start of each piece among the indices
    starts: Tensor  # start of each bag among the pieces


def _in_pieces(indices: np.ndarray, starts: np.ndarray, values: np.ndarray) -> _Bags:
    """Cut bags into pieces of at most PIECE entries."""
    lengths = np.diff(starts, append=len(indices))
    pieces = np.maximum(1, -(-lengths // PIECE))  # of each bag, one for an empty one too
    first = np.cumsum(pieces) - pieces
    number = in_a_row(0, pieces)  # of each piece in its bag
    cut = np.repeat(starts, pieces) + number * PIECE
    # Copied by numpy: a network that is built without memory for its weights still has its Φ.
    return _Bags(*(torch.from_numpy(np.array(part)) for part in (indices, values, cut, first)))


class _BagSum(torch.autograd.Function):
    """A sparse matrix times a dense one; its gradient is the same with the matrix transposed.

    As both orientations are known, neither direction sorts or scatters: each is a plain sum over
    bags of rows, faster than the gradient of `embedding_bag`.
    """

    @staticmethod
    def forward(context, rows, bags, transposed):
        context.bags = transposed, bags
        return _bag_sum(rows, bags)

    @staticmethod
    def backward(context, gradient):
        return _BagSum.apply(gradient, *context.bags), None, None


def _bag_sum(rows: Tensor, bags: _Bags) -> Tensor:
    sums = functional.embedding_bag(
        bags.indices, rows, bags.pieces, mode="sum", per_sample_weights=bags.values.to(rows.dtype)
    )
    if len(bags.pieces) == len(bags.starts):
        return sums
    every_piece = torch.arange(len(sums), device=sums.device)
    return functional.embedding_bag(every_piece, sums, bags.starts, mode="sum")


def tied_weight(weight: nn.Parameter | None, width: int, size: int) -> nn.Parameter:
    """Return the W to share, one row of `size` per feature; a random one if there is none."""
    if weight is None:
        return nn.Parameter(torch.empty(width, size).uniform_(-(size**-0.5), size**-0.5))
    if tuple(weight.shape) != (width, size):
        raise AccordError(
            f"weight: expected {width} features × {size} to tie; got {tuple(weight.shape)}"
        )
    return weight


class WordEmbedding(nn.Module):
    """ψ(x) of words (…), as vectors (… × E)."""

    weight: nn.Parameter  # a vector for each part that words are read by


class FeatureEmbedding(WordEmbedding):
    """ψ(x) = φ(x)·W: the sum of the rows of W that the word's features name.

    Passed to the output layer, `weight` ties the two: one vector per feature serves to read a word
    and to predict it. `dropout` leaves out whole features, rows of W, for a batch, and scales up
    the others: Gal & Ghahramani's embedding dropout (2016), on features instead of words.
    `vector_dropout` leaves out the dense block of that share of the signatures, for a batch: the
    network cannot rely on a word's meaning to know what its form says.
    """

    signature: Tensor  # of every word (V)

    def __init__(
        self, features: Features, size: int, dropout: float = 0.0, vector_dropout: float = 0.0
    ):
        super().__init__()
        self.product = FeatureProduct(features)
        self.weight = tied_weight(None, features.feature_count, size)
        self.dropout, self.vector_dropout = dropout, vector_dropout
        self.register_buffer("signature", torch.from_numpy(features.signature), persistent=False)

    def forward(self, words: Tensor) -> Tensor:
        check_words("words", words, len(self.signature))
        signatures, weight, is_dense = self.signature[words], self._dropped(), self._dense_kept()
        if words.device.type == "cpu":  # to know which rows are read, a GPU would be waited for
            different, signatures = signatures.unique(return_inverse=True)
            rows = self.product.of_signatures(weight, different, is_dense)
        else:
            rows = self.product(weight, is_dense)
        return functional.embedding(signatures, rows)

    def _dense_kept(self) -> Tensor | None:
        """Return dropout factors of the signatures' vectors (S × 1); kept ones are scaled up."""
        if not self.training or not self.vector_dropout or self.product.dense is None:
            return None
        kept = 1 - self.vector_dropout
        return self.product.dense.new_empty(len(self.product.dense), 1).bernoulli_(kept).div_(kept)

    def _dropped(self) -> Tensor:
        """Return W without the features that are left out."""
        if not self.training or not self.dropout:
            return self.weight
        kept = 1 - self.dropout
        return self.weight * self.weight.new_empty(len(self.weight), 1).bernoulli_(kept).div_(kept)


Psi = Features | np.ndarray  # other features of the same words, or the letters of each


class WordsRead(NamedTuple):
    """The arguments of an input."""

    features: Features  # Φ
    psi: Psi | None  # the input features, if they are not Φ
    size: int
    dropouts: dict[str, float]


def embedding(
    choice: Choice, features: Features, psi: Psi | None, size: int, *, tied: bool, **dropouts: float
) -> WordEmbedding:
    """Return ψ: of features, by default Φ's, of each word by itself, or of its letters."""
    name, _ = parted(choice)
    if name != "features" and tied:
        raise AccordError(
            f"input: {name} cannot be tied to an output over features; expected tied: false"
        )
    return INPUTS.make(choice, WordsRead(features, psi, size, dropouts))


def features(read: WordsRead) -> FeatureEmbedding:
    """Its features: φ, or ψ where it has others."""
    phi = read.features
    psi = phi if read.psi is None else read.psi
    if not isinstance(psi, Features):
        raise AccordError("psi: expected features of words, got their letters")
    if psi.vocabulary_size != phi.vocabulary_size:
        raise AccordError(
            f"psi: expected {phi.vocabulary_size} words as in Φ, got {psi.vocabulary_size}"
        )
    return FeatureEmbedding(psi, read.size, **read.dropouts)


def words(read: WordsRead) -> FeatureEmbedding:
    """Which word it is: one-hot."""
    one_hot = Features.one_hot(read.features.vocabulary_size)
    return FeatureEmbedding(one_hot, read.size, **read.dropouts)


def reads_letters(choice: Choice) -> bool:
    """Return whether an input reads the letters of words."""
    return INPUTS.about(choice, "reads") == "letters"


class VariationalDropout(nn.Module):
    """Drop the same units at every time step of a sequence (T × B × D), and scale up the others.

    With `every_step`, each step drops its own units: the dropout of Srivastava et al. (2014).
    """

    def __init__(self, rate: float, every_step: bool = False):
        super().__init__()
        self.rate, self.every_step = rate, every_step
        self.share: ProcessShare | None = None  # of the columns, if processes share a batch

    def forward(self, sequence: Tensor) -> Tensor:
        if not self.training or not self.rate:
            return sequence
        kept = 1 - self.rate
        steps, columns, units = sequence.shape
        shape = steps if self.every_step else 1, self.share.total if self.share else columns, units
        scale = sequence.new_empty(shape).bernoulli_(kept).div_(kept)
        return sequence * (scale[:, self.share.columns] if self.share else scale)


class Encoder(nn.Module):
    """From inputs (T × B × E) and a state to outputs (T × B × H) and the state after them."""

    has_fixed_shapes = True  # whether a GPU need not know the words to compute a step

    def read_packed(self, inputs: Tensor, packed: Packed) -> Tensor:
        """Return the outputs for texts that follow each other in one column (N × 1 × E)."""
        raise NotImplementedError

    def initial_state(self, batch: int) -> State:
        """Return the state before a text, for a number of columns."""
        raise NotImplementedError


class StackedLayer(nn.Module):
    """The interface of a layer of a stack, in addition to `forward`."""

    def initial_state(self, batch: int) -> tuple[Tensor, ...]:
        """Return the state before a text, for a number of columns."""
        raise NotImplementedError


Layer = TypeVar("Layer", bound=nn.Module, covariant=True)


class Layers(nn.ModuleList, Generic[Layer]):
    """A list of modules of one type; torch's own list forgets the type."""

    def __iter__(self) -> Iterator[Layer]:
        return cast("Iterator[Layer]", super().__iter__())


class Stacked(Encoder):
    """Layers on top of each other, with variational dropout between them."""

    layers: Layers[StackedLayer]
    dropout: VariationalDropout

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        states = []
        for number, (layer, layer_state) in enumerate(zip(self.layers, state, strict=True)):
            inputs, layer_state = layer(self.dropout(inputs) if number else inputs, layer_state)
            states.append(layer_state)
        return inputs, tuple(states)

    def initial_state(self, batch: int) -> State:
        return tuple(layer.initial_state(batch) for layer in self.layers)


IRNN_INPUT = 0.001  # deviation of the first input weights (Le et al. 2015)
SINGLE = (True, 1, 0.0)  # with biases, one layer, no dropout between layers
ON_ARM = platform.machine().lower() in ("aarch64", "arm64")


class RecurrentLayer(StackedLayer):
    """One layer of PyTorch's fused kernels, with dropout on the recurrent weights.

    Weight dropout (Merity et al. 2018) drops connections from state to state, the same ones for
    a whole sequence, before the kernel sees the matrix: the kernel stays the fused one.
    """

    kernels: ClassVar[dict[str, Callable[..., Any]]] = {
        "elman": torch.rnn_tanh,
        "irnn": torch.rnn_relu,
        "gru": torch.gru,
        "lstm": torch.lstm,
    }
    gates: ClassVar[dict[str, int]] = {"elman": 1, "irnn": 1, "gru": 3, "lstm": 4}

    def __init__(self, name: str, inputs: int, outputs: int, weight_dropout: float = 0.0):
        super().__init__()
        self.name, self.outputs, self.weight_dropout = name, outputs, weight_dropout
        rows = self.gates[name] * outputs
        self.input_weight = nn.Parameter(torch.empty(rows, inputs))
        self.recurrent_weight = nn.Parameter(torch.empty(rows, outputs))
        self.input_bias = nn.Parameter(torch.empty(rows))
        self.recurrent_bias = nn.Parameter(torch.empty(rows))
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(outputs**-0.5), outputs**-0.5)
        if name == "irnn":  # at first the state stays, but for the input
            nn.init.eye_(self.recurrent_weight)
            nn.init.zeros_(self.recurrent_bias)
            nn.init.zeros_(self.input_bias)
            nn.init.normal_(self.input_weight, std=IRNN_INPUT)

    def forward(
        self, inputs: Tensor, state: tuple[Tensor, ...], weights: list[Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return outputs and state. Parts of one sequence are read with the same `weights`."""
        with in_full_precision(inputs.device.type):
            inputs, *first = (part.to(self.recurrent_weight.dtype) for part in (inputs, *state))
            outputs, *last = self.kernels[self.name](
                inputs,
                first if self.name == "lstm" else first[0],
                weights or self.weights(),
                *SINGLE,
                self.training,
                False,  # one direction
                False,  # time first
            )
        return outputs, tuple(last)

    def weights(self) -> list[Tensor]:
        """Return the kernel's weights, without the connections that are dropped in a sequence."""
        weights = self.dropped_weights()
        if not self.recurrent_weight.is_cuda:
            return weights
        sizes = [weight.numel() for weight in weights]  # in one piece: cuDNN copies them otherwise
        pieces = torch.cat([weight.flatten() for weight in weights]).split(sizes)
        return [piece.view_as(weight) for piece, weight in zip(pieces, weights, strict=True)]

    def dropped_weights(self) -> list[Tensor]:
        """Return the weights in PyTorch's order, with dropout on the recurrent ones."""
        recurrent = functional.dropout(self.recurrent_weight, self.weight_dropout, self.training)
        return [self.input_weight, recurrent, self.input_bias, self.recurrent_bias]

    def initial_state(self, batch: int) -> tuple[Tensor, ...]:
        zeros = self.recurrent_weight.new_zeros(1, batch, self.outputs)
        return (zeros, zeros) if self.name == "lstm" else (zeros,)


@contextmanager
def in_full_precision(device: str) -> Iterator[None]:
    """Run kernels in the precision of the weights, whatever autocast asks for.

    On a GPU, autocast to bfloat16 would run the recurrence in float16, and gradients through time
    leave the range of float16; on a CPU not every kernel has bfloat16. And oneDNN, which PyTorch
    prefers there, has no kernels for ARM, where PyTorch's own are up to twice as fast.
    """
    was_enabled = torch.backends.mkldnn.enabled
    torch.backends.mkldnn.enabled = was_enabled and not ON_ARM  # type: ignore[assignment]  # a property
    try:
        with torch.autocast(device, enabled=False):
            yield
    finally:
        torch.backends.mkldnn.enabled = was_enabled


@about(hidden="between layers")
class Recurrent(Stacked):
    """Layers of PyTorch's kernels, all of one kind.

    `reader`, if it is set, reads the windows of training instead: on a GPU all layers at the same
    time (accord.models.gpu.windows).
    """

    cell: str
    layers: Layers[RecurrentLayer]
    reader: Callable[["Recurrent", Tensor, State], tuple[Tensor, State]] | None = None

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
        widths = [inputs, *[hidden] * (layers - 1), outputs]
        self.layers = Layers(
            RecurrentLayer(self.cell, *pair, weight_dropout) for pair in pairwise(widths)
        )
        self.dropout = VariationalDropout(dropout)

    def forward(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        if self.training and self.reader:
            return self.reader(self, inputs, state)
        return super().forward(inputs, state)


class Elman(Recurrent):
    """The simple recurrent network (Elman 1990): h_t = tanh(W·ψ_t + U·h_{t−1} + c)."""

    cell = "elman"


class GRU(Recurrent):
    """Gated recurrent units (Cho et al. 2014)."""

    cell = "gru"


class LSTM(Recurrent):
    """Long short-term memory (Hochreiter & Schmidhuber 1997)."""

    cell = "lstm"


class IRNN(Recurrent):
    """Rectified units that start as a memory (Le et al. 2015): h_t = relu(W·ψ_t + U·h_{t−1} + c),
    U = 1 at first.
    """

    cell = "irnn"
