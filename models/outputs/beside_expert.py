"""A background whose contexts hold also what an expert has to know."""

from typing import Protocol

import numpy as np
from torch import Tensor

from models.background.base import Background, Chance
from models.common.batching import Sentences
from models.features.phi import Features


class Expert(Protocol):
    """What models.outputs.experts are."""

    def contexts(self, sentences: Sentences) -> np.ndarray: ...

    def named(self, kept: Tensor) -> tuple[Tensor, Tensor]: ...


class BesideExpert(Background):
    """b(K, x) as it is; a context is that of b and, after it, that of the expert."""

    def __init__(self, features: Features, background: Background, expert: Expert):
        super().__init__(features)
        self.background, self.expert = background, expert
        nothing = Sentences(np.zeros(1, np.int64), np.ones(1, np.int64))
        self.width = expert.contexts(nothing).shape[1]

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        own, kept = (
            self.background.contexts(sentences, training),
            self.expert.contexts(sentences),
        )
        return np.column_stack(
            [own, kept.astype(np.float64 if own.dtype.kind == "f" else own.dtype)]
        )

    def named(self, context: Tensor) -> tuple[Tensor, Tensor]:
        """The words that each context names, and the expert feature's values (both N × P)."""
        return self.expert.named(context[:, context.shape[1] - self.width :].long())

    def class_mass(self, context: Tensor | None = None) -> Tensor:
        return self.background.class_mass(self._own(context))

    def class_prior(self, context: Tensor | None = None) -> Tensor:
        return self.background.class_prior(self._own(context))

    def log_mass_of(self, words: Tensor, context: Tensor | None = None) -> Tensor:
        return self.background.log_mass_of(words, self._own(context))

    def log_masses(self, context: Tensor | None = None) -> Tensor:
        return self.background.log_masses(self._own(context))

    def draw(self, signatures: Tensor, context: Tensor | None, chance: Chance) -> Tensor:
        return self.background.draw(signatures, self._own(context), chance)

    def contenders(self, k: int) -> Tensor:
        return self.background.contenders(k)

    def regrouped(self, features: Features) -> Background:
        """That of b alone: a model over other signatures sets its expert beside it anew."""
        return self.background.regrouped(features)

    def check_made_for(self, features: Features) -> None:
        self.background.check_made_for(features)

    @property
    def size(self) -> int:
        return self.background.size

    def _own(self, context: Tensor | None) -> Tensor | None:
        return None if context is None else context[:, : context.shape[1] - self.width]
