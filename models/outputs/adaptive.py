"""PyTorch's adaptive softmax (Grave et al. 2017): frequent words cheap, rare ones in clusters."""

import numpy as np
import torch
from torch import Tensor, nn

from accord.models.common.checks import check_words
from accord.models.outputs.given import Given
from accord.models.outputs.softmax import log_share


class Adaptive(nn.Module):
    """`AdaptiveLogSoftmaxWithLoss`, which wants words by falling frequency, for words as they are.

    `mass` says how frequent each word is; without it the ids are taken to fall in frequency. With
    it frequent words and the clusters start from its logarithm, as in a softmax.
    """

    def __init__(
        self,
        words: int,
        size: int,
        *,
        mass: np.ndarray | None = None,
        cutoffs: list[int] | None = None,
    ):
        super().__init__()
        by_rank = np.arange(words) if mass is None else np.argsort(-mass, kind="stable")
        self.register_buffer("rank", torch.from_numpy(np.argsort(by_rank)), persistent=False)
        cutoffs = cutoffs or default_cutoffs(words)
        self.inner = nn.AdaptiveLogSoftmaxWithLoss(size, words, cutoffs, head_bias=True)
        if mass is not None:
            first, *others = np.split(mass[by_rank], cutoffs)
            heads = log_share(np.concatenate([first, [cluster.sum() for cluster in others]]))
            self.inner.head.bias.data.copy_(torch.from_numpy(heads))

    def loss(self, h: Tensor, targets: Tensor) -> Tensor:
        return -self.log_prob_of(h, targets).mean()

    def log_prob_of(self, h: Tensor, words: Tensor) -> Tensor:
        check_words("words", words, len(self.rank))
        if words.dim() > 1:
            return torch.stack([self.log_prob_of(h, column) for column in words.T], dim=1)
        with self._full_precision(h):
            return self.inner(h.to(self.inner.head.weight.dtype), self.rank[words]).output

    def log_prob(self, h: Tensor) -> Tensor:
        with self._full_precision(h):
            return self.inner.log_prob(h.to(self.inner.head.weight.dtype))[:, self.rank]

    @staticmethod
    def _full_precision(h: Tensor) -> torch.autocast:
        """PyTorch's layer mixes precisions under autocast, and fails."""
        return torch.autocast(h.device.type, enabled=False)


def default_cutoffs(words: int) -> list[int]:
    """Where the authors cut vocabularies of 10,000, 44,000 and 793,000 words, by the nearest."""
    if words > 200_000:
        return [4_000, 40_000, 200_000]
    return [cutoff for cutoff in (2_000, 10_000) if cutoff < words / 2] or [max(1, words // 2)]


def adaptive(given: Given) -> nn.Module:
    """PyTorch's adaptive softmax: the rare words in clusters of smaller vectors."""
    signatures = given.features.signature_count
    return given.over_signatures(Adaptive(signatures, given.size, mass=given.mass))
