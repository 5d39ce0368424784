"""Words that have just been said are said again, or are not."""

import numpy as np
import torch
from torch import Tensor

from models.common.batching import NO_WORD, Sentences, preceding
from models.features.phi import Features


class Copy:
    """The feature is 1 for the last words of the sentence so far."""

    def __init__(
        self,
        features: Features,
        *,
        reach: int = 20,  # words back
    ):
        if reach < 1:
            raise ValueError(f"expert: copy.reach: expected 1 or more, got {reach}")
        self.reach = reach

    def contexts(self, sentences: Sentences) -> np.ndarray:
        return preceding(sentences, self.reach, NO_WORD)

    def named(self, kept: Tensor) -> tuple[Tensor, Tensor]:
        return kept, torch.ones_like(kept, dtype=torch.float32)
