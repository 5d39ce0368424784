"""The sparse product Φ·W, the only place where features meet weights."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from models.features import Features


class FeatureProduct(nn.Module):
    """W_s = Φ_s·W: each signature's row is the sum of its features' rows of W (F × D → S × D).

    The rows of words are never formed: a word is looked up by its signature.
    """

    def __init__(self, features: Features):
        super().__init__()
        self.is_identity, self.width = features.is_identity, features.width
        row = np.repeat(np.arange(features.signatures), np.diff(features.indptr))
        by_feature = np.argsort(features.indices, kind="stable")
        starts = np.searchsorted(features.indices[by_feature], np.arange(features.width))
        for name, array in (
            ("indices", features.indices),
            ("starts", features.indptr[:-1]),
            ("values", features.values),
            ("transposed_indices", row[by_feature]),
            ("transposed_starts", starts),
            ("transposed_values", features.values[by_feature]),
        ):
            self.register_buffer(name, torch.tensor(array), persistent=False)

    def forward(self, weight: Tensor) -> Tensor:
        return weight if self.is_identity else _BagSum.apply(weight, self._bags, self._transposed)

    def transposed(self, rows: Tensor) -> Tensor:
        """Φ_sᵀ·R: from one row per signature to one per feature (S × D → F × D)."""
        return rows if self.is_identity else _BagSum.apply(rows, self._transposed, self._bags)

    @property
    def _bags(self):
        return self.indices, self.starts, self.values

    @property
    def _transposed(self):
        return self.transposed_indices, self.transposed_starts, self.transposed_values


class _BagSum(torch.autograd.Function):
    """A sparse matrix times a dense one; its gradient is the same with the matrix transposed.

    With both orientations at hand, neither direction sorts or scatters: each is a plain sum over
    bags of rows, faster than the gradient that `embedding_bag` finds by itself.
    """

    @staticmethod
    def forward(context, rows, bags, transposed):
        context.bags = transposed, bags
        return _bag_sum(rows, *bags)

    @staticmethod
    def backward(context, gradient):
        return _BagSum.apply(gradient, *context.bags), None, None


def _bag_sum(rows: Tensor, indices: Tensor, starts: Tensor, values: Tensor) -> Tensor:
    return functional.embedding_bag(
        indices, rows, starts, mode="sum", per_sample_weights=values.to(rows.dtype)
    )
