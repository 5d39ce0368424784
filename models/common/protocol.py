"""What a language model answers, whatever its kind."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from accord.models.common.batching import Sentences

if TYPE_CHECKING:
    from torch import Tensor


class Model(Protocol):
    """Any language model; one of subwords answers only `score`, in its own way."""

    def score(self, sentences: Sentences) -> np.ndarray:
        """log p of every word of every sentence in order, END included, in nats."""

    def score_beside(self, sentences: Sentences, others: Sequence[int]) -> np.ndarray:
        """log p of every word, in the first column, and of the others in its place: (N × 1 + M)."""

    def log_distributions(self, sentences: Sentences) -> "Tensor":
        """log p of every word of the vocabulary in every place: (N × V)."""
