"""A background by itself as a language model: an n-gram model, or the unigram."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from accord.models.background.base import Background
from accord.models.common.batching import Sentences
from accord.models.network.states import with_others

WORDS_AT_ONCE = 1 << 20  # scored together


class BackgroundOnly(nn.Module):
    """p(x | K) = b(K, x), for a background that sums to one; nothing is trained."""

    def __init__(self, background: Background):
        super().__init__()
        self.background = background

    def score(self, sentences: Sentences) -> np.ndarray:
        """log p of every word of every sentence in order, END included, in nats."""
        return self.score_beside(sentences, ())[:, 0]

    def score_beside(self, sentences: Sentences, others: Sequence[int]) -> np.ndarray:
        """log p of every word, in the first column, and of the others in its place: (N × 1 + M)."""
        contexts = self._contexts(sentences)
        words = torch.from_numpy(sentences.ids.astype(np.int64)).to(contexts.device)
        at_once = max(1, WORDS_AT_ONCE // (1 + len(others)))
        log_p = [
            self.background.log_mass_of(with_others(word, others), context)
            for word, context in zip(words.split(at_once), contexts.split(at_once), strict=True)
        ]
        return torch.cat(log_p).double().cpu().numpy()

    def log_distributions(self, sentences: Sentences) -> Tensor:
        """log p of every word of the vocabulary in every place: (N × V)."""
        context = self._contexts(sentences)
        return self.background.log_masses(context).expand(len(context), -1)

    def parameter_count(self) -> int:
        """How many probabilities are listed."""
        return self.background.size

    def _contexts(self, sentences: Sentences) -> Tensor:
        contexts = torch.from_numpy(self.background.contexts(sentences))
        return contexts.to(self.background.starts.device)
