"""A background by itself as a language model: an n-gram model, or the unigram."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from models.background import Background
from models.batching import Sentences

WORDS_AT_ONCE = 1 << 20  # scored together


class BackgroundModel(nn.Module):
    """p(x | K) = b(K, x), for a background that sums to one; nothing is trained."""

    def __init__(self, background: Background):
        super().__init__()
        self.background = background

    def score(self, sentences: Sentences) -> np.ndarray:
        """log p of every word of every sentence in order, END included, in nats."""
        return self._log_p(sentences, sentences.ids)

    def score_beside(self, sentences: Sentences, others: Sequence[int]) -> np.ndarray:
        """log p of every word, in the first column, and of the others in its place: (N × 1 + M)."""
        beside = (np.full_like(sentences.ids, other) for other in others)
        return np.stack([self._log_p(sentences, ids) for ids in (sentences.ids, *beside)], axis=1)

    def _log_p(self, sentences: Sentences, ids: np.ndarray) -> np.ndarray:
        """Of one word in every place."""
        words = torch.from_numpy(ids.astype(np.int64)).to(self._device)
        parts = zip(
            words.split(WORDS_AT_ONCE), self._contexts(sentences).split(WORDS_AT_ONCE), strict=True
        )
        log_p = [self.background.log_mass_of(word, context) for word, context in parts]
        return torch.cat(log_p).double().cpu().numpy()

    def log_distributions(self, sentences: Sentences) -> Tensor:
        """log p of every word of the vocabulary in every place: (N × V)."""
        return self.background.log_masses(self._contexts(sentences))

    def parameter_count(self) -> int:
        """How many probabilities are listed."""
        return self.background.size

    @property
    def _device(self) -> torch.device:
        return self.background.members.device

    def _contexts(self, sentences: Sentences) -> Tensor:
        return torch.from_numpy(self.background.contexts(sentences)).to(self._device)
