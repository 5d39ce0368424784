"""The input embedding: words enter the network by their features, as they leave it."""

import torch
from torch import Tensor, nn

from accord.models.common.checks import check_words
from accord.models.features.phi import Features
from accord.models.features.product import FeatureProduct, new_weight


class FeatureEmbedding(nn.Module):
    """ψ(x) = φ(x)·W: the sum of the rows of W that the word's features name.

    Given to the output layer, `weight` ties the two: one vector per feature serves to read a word
    and to predict it. `dropout` leaves out whole features, that is rows of W, for a batch, others
    growing to make up: Gal & Ghahramani's embedding dropout (2016), on features instead of words.
    `vector_dropout` leaves out the dense block of that share of the signatures, for a batch: so
    the network cannot rely on what a word means to know what its form says.
    """

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
        """Which signatures are read with their vectors: (S × 1), grown to make up for others."""
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
