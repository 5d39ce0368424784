"""Φ·W, and ψ: a word read by its features or by itself."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from accord.errors import AccordError
from accord.models.common.checks import check_words
from accord.models.common.registry import Choice, parted
from accord.models.data import in_a_row
from accord.models.parts import INPUTS
from accord.models.phi import Features

PIECE = 64  # rows summed by one thread: else all would wait for the one feature of 6,000 signatures


class FeatureProduct(nn.Module):
    """W_s = Φ_s·W: each signature's row is the sum of its features' rows of W (F × E → S × E).

    Sparse features are summed row by row; dense ones, where there are any, are one product of
    matrices, Φ_s·W = Φ_sparse·W_sparse + V_s·W_dense. The rows of words are never formed: a word
    is looked up by its signature.
    """

    dense: Tensor | None  # V_s (S × D)

    def __init__(self, features: Features):
        super().__init__()
        self.is_identity, self.feature_count = features.is_identity, features.feature_count
        self.sparse_count, self.signature_count = features.sparse_count, features.signature_count
        self.matrix = _Rows(features.indptr, features.indices, features.values)
        for prefix, bags in zip(("", "transposed_"), self._both_ways(self.matrix), strict=True):
            for name, array in bags._asdict().items():
                self.register_buffer(prefix + name, array, persistent=False)
        rows = features.vectors[features.vector] if features.dimensions else None
        dense = None if rows is None else torch.from_numpy(rows)
        self.register_buffer("dense", dense, persistent=False)

    def forward(self, weight: Tensor, is_dense: Tensor | None = None) -> Tensor:
        """Φ_s·W; `is_dense` (S × 1), where given, scales the dense block of each signature."""
        if self.is_identity:
            return weight
        rows = _BagSum.apply(weight[: self.sparse_count], self._bags, self._transposed)
        return rows if self.dense is None else self._with_dense(rows, weight, self.dense, is_dense)

    def of_signatures(
        self, weight: Tensor, signatures: Tensor, is_dense: Tensor | None = None
    ) -> Tensor:
        """Some rows of Φ_s·W, of signatures that differ, at the price of these rows (CPU only)."""
        if self.is_identity:
            return nn.functional.embedding(signatures, weight)
        bags = self._both_ways(self.matrix.chosen(signatures.numpy()))
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
        """Φ_sᵀ·R: from one row per signature to one per feature (S × E → F × E)."""
        if self.is_identity:
            return rows
        sums = _BagSum.apply(rows, self._transposed, self._bags)
        if self.dense is None:
            return sums
        return torch.cat([sums, self.dense.to(rows.dtype).T @ rows])

    def _both_ways(self, matrix: "_Rows") -> tuple["_Bags", "_Bags"]:
        """Rows of Φ as bags of features, and features as bags of these rows."""
        by_feature = np.argsort(matrix.indices, kind="stable")
        starts = np.searchsorted(matrix.indices[by_feature], np.arange(self.sparse_count))
        row = np.repeat(np.arange(len(matrix.indptr) - 1), np.diff(matrix.indptr))[by_feature]
        return (
            _in_pieces(matrix.indices, matrix.indptr[:-1], matrix.values),
            _in_pieces(row, starts, matrix.values[by_feature]),
        )

    @property
    def _bags(self) -> "_Bags":
        return _Bags(*(getattr(self, name) for name in _Bags._fields))

    @property
    def _transposed(self) -> "_Bags":
        return _Bags(*(getattr(self, f"transposed_{name}") for name in _Bags._fields))


def new_weight(width: int, size: int) -> nn.Parameter:
    """W at random: one row of `size` per feature."""
    return nn.Parameter(torch.empty(width, size).uniform_(-(size**-0.5), size**-0.5))


def tied_weight(weight: nn.Parameter | None, width: int, size: int) -> nn.Parameter:
    """The W to share, which must have one row of `size` per feature; a new one if none is given."""
    if weight is None:
        return new_weight(width, size)
    if tuple(weight.shape) != (width, size):
        raise AccordError(
            f"weight: expected {width} features × {size} to tie; got {tuple(weight.shape)}"
        )
    return weight


class _Rows(NamedTuple):
    """The sparse block of Φ, as `Features` has it."""

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray

    def chosen(self, rows: np.ndarray) -> "_Rows":
        starts, lengths = self.indptr[rows], self.indptr[rows + 1] - self.indptr[rows]
        entries = in_a_row(starts, lengths)
        ends = np.concatenate(([0], np.cumsum(lengths)))
        return _Rows(ends, self.indices[entries], self.values[entries])


class _Bags(NamedTuple):
    """A sparse matrix by rows, its long ones cut into pieces."""

    indices: Tensor
    values: Tensor
    pieces: Tensor  # where each piece starts among the indices
    starts: Tensor  # where each bag starts among the pieces


def _in_pieces(indices: np.ndarray, starts: np.ndarray, values: np.ndarray) -> _Bags:
    lengths = np.diff(starts, append=len(indices))
    pieces = np.maximum(1, -(-lengths // PIECE))  # of each bag, one for an empty one too
    first = np.cumsum(pieces) - pieces
    number = in_a_row(0, pieces)  # of each piece in its bag
    cut = np.repeat(starts, pieces) + number * PIECE
    # Copied by numpy: a network that is built without room for its weights has its Φ all the same.
    return _Bags(*(torch.from_numpy(np.array(each)) for each in (indices, values, cut, first)))


class _BagSum(torch.autograd.Function):
    """A sparse matrix times a dense one; its gradient is the same with the matrix transposed.

    With both orientations at hand, neither direction sorts or scatters: each is a plain sum over
    bags of rows, faster than the gradient that `embedding_bag` finds by itself.
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
    every = torch.arange(len(sums), device=sums.device)
    return functional.embedding_bag(every, sums, bags.starts, mode="sum")


class WordEmbedding(nn.Module):
    """ψ(x) of words (…), as vectors (… × E)."""

    weight: nn.Parameter  # a vector for each part that words are read by


class FeatureEmbedding(WordEmbedding):
    """ψ(x) = φ(x)·W: the sum of the rows of W that the word's features name.

    Given to the output layer, `weight` ties the two: one vector per feature serves to read a word
    and to predict it. `dropout` leaves out whole features, that is rows of W, for a batch, others
    growing to make up: Gal & Ghahramani's embedding dropout (2016), on features instead of words.
    `vector_dropout` leaves out the dense block of that share of the signatures, for a batch: so
    the network cannot rely on what a word means to know what its form says.
    """

    signature: Tensor  # of every word (V)

    def __init__(
        self, features: Features, size: int, dropout: float = 0.0, vector_dropout: float = 0.0
    ):
        super().__init__()
        self.product = FeatureProduct(features)
        self.weight = new_weight(features.feature_count, size)
        self.dropout, self.vector_dropout = dropout, vector_dropout
        self.register_buffer("signature", torch.from_numpy(features.signature), persistent=False)

    def forward(self, words: Tensor) -> Tensor:
        check_words("words", words, len(self.signature))
        signatures, weight, is_dense = self.signature[words], self._dropped(), self._dense_kept()
        if words.device.type == "cpu":  # a GPU would be waited for to know which are read
            read, signatures = signatures.unique(return_inverse=True)
            rows = self.product.of_signatures(weight, read, is_dense)
        else:
            rows = self.product(weight, is_dense)
        return nn.functional.embedding(signatures, rows)

    def _dense_kept(self) -> Tensor | None:
        """Dropout factors of the signatures' vectors (S × 1); kept ones are scaled up."""
        if not self.training or not self.vector_dropout or self.product.dense is None:
            return None
        kept = 1 - self.vector_dropout
        return self.product.dense.new_empty(len(self.product.dense), 1).bernoulli_(kept).div_(kept)

    def _dropped(self) -> Tensor:
        """W without the features that are left out."""
        if not self.training or not self.dropout:
            return self.weight
        kept = 1 - self.dropout
        return self.weight * self.weight.new_empty(len(self.weight), 1).bernoulli_(kept).div_(kept)


Psi = Features | np.ndarray  # other features of the same words, or the letters of each


class WordsRead(NamedTuple):
    """The arguments from which an input is made."""

    features: Features  # Φ
    psi: Psi | None  # the input features, if they are not Φ
    size: int
    dropouts: dict[str, float]


def embedding(
    choice: Choice, features: Features, psi: Psi | None, size: int, *, tied: bool, **dropouts: float
) -> WordEmbedding:
    """ψ: of features by default Φ's, of each word by itself, or of its letters."""
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
    return FeatureEmbedding(
        Features.one_hot(read.features.vocabulary_size), read.size, **read.dropouts
    )


def reads_letters(choice: Choice) -> bool:
    return INPUTS.part(parted(choice)[0]).about.get("reads") == "letters"


class EndsOfWords(nn.Module):
    """One more input beside each subword: 1 where a word ends, else 0."""

    is_end: Tensor  # whether a word ends with each subword

    def __init__(self, ends: np.ndarray | None):
        super().__init__()
        if ends is None:
            raise AccordError(
                "encoder: expected a model of letters or pieces, whose words have ends "
                "(encode.merges), for an encoder with a clock of words"
            )
        self.register_buffer("is_end", torch.from_numpy(np.asarray(ends, bool)), persistent=False)

    def forward(self, subwords: Tensor, read: Tensor) -> Tensor:
        return torch.cat([read, self.is_end[subwords].unsqueeze(-1).to(read.dtype)], dim=-1)
