"""The paper's *expert feature* φ_e(K, x): one more feature, for the few words that K names.

An expert is made from Φ and has `contexts(sentences)`, what it keeps of the words before each word
of a text (N × n), and `named(kept)`, which words these contexts name (N × P; −1 where fewer are)
and the value that the feature has for each of them (N × P); for all other words it is 0.
"""

from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from accord.models.background import Background, Chance, needed
from accord.models.common.checks import check_words
from accord.models.common.registry import Choice
from accord.models.data import NO_WORD, Sentences, preceding
from accord.models.log_linear import LogLinear
from accord.models.parts import EXPERTS
from accord.models.phi import Features
from accord.models.signatures import BeforeState, ScoredSignatures
from accord.models.softmax import OutputContext


class Naming(Protocol):
    """The interface of experts."""

    def contexts(self, sentences: Sentences) -> np.ndarray: ...

    def named(self, kept: Tensor) -> tuple[Tensor, Tensor]: ...


class Copy:
    """The feature is 1 for the last words of the sentence so far."""

    def __init__(
        self,
        features: Features,
        *,
        reach: int = 20,  # words back
    ):
        self.reach = reach

    def contexts(self, sentences: Sentences) -> np.ndarray:
        return preceding(sentences, self.reach, NO_WORD)

    def named(self, kept: Tensor) -> tuple[Tensor, Tensor]:
        return kept, torch.ones_like(kept, dtype=torch.float32)


class ExpertLogLinear(LogLinear):
    """A log-linear layer with one more feature, whose weight a_e = w·h_t is not over 1/T."""

    background: "BesideExpert"

    def __init__(
        self,
        features: Features,
        background: Background,
        size: int,
        *,
        expert: Naming,
        weight: nn.Parameter | None = None,
        beside: int = 0,
    ):
        wider = BesideExpert(features, background, expert)
        super().__init__(features, wider, size, weight=weight, beside=beside)
        self.expert_weight = nn.Parameter(torch.zeros(1, self.width))

    def classes(
        self, h: Tensor, context: Tensor | None, before: BeforeState | None = None
    ) -> ScoredSignatures:
        """The signatures, and each word that the expert names, with their scores."""
        words, values = self.background.named(context)
        check_words("the expert's words", words, len(self.signature), least=-1)
        evidence = h @ self.expert_weight.T * values
        log_mass = self.background.log_mass_of(words.clamp(min=0), context)
        return super().classes(h, context, before).naming(words, log_mass, evidence)

    def adaptor(self, h: Tensor) -> Tensor:
        """One weight per feature, the expert's last: (N × F + 1)."""
        return torch.cat([super().adaptor(h), h @ self.expert_weight.T], dim=1)

    def context_terms(self, h: Tensor, context: Tensor | None) -> tuple[Tensor, Tensor]:
        words, values = self.background.named(context)
        return words, (h @ self.expert_weight.T).double() * values

    def regrouped(self, features: Features) -> Background:
        """The background alone: a layer over other signatures adds its own expert."""
        return self.regrouped_from(self.background.background, features)


class BesideExpert(Background):
    """b(K, x) as it is; a context is that of b and, after it, that of the expert."""

    def __init__(self, features: Features, background: Background, expert: Naming):
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

    def named(self, context: Tensor | None) -> tuple[Tensor, Tensor]:
        """The words that each context names, and the expert feature's values (both N × P)."""
        return self.expert.named(self.kept(context))

    def kept(self, context: Tensor | None) -> Tensor:
        """What the expert keeps of each context: (N × n)."""
        context = needed(context)
        return context[:, context.shape[1] - self.width :].long()

    def class_mass(self, context: Tensor | None = None) -> Tensor:
        return self.background.class_mass(self._own(context))

    def class_prior(self, context: Tensor | None = None) -> Tensor:
        return self.background.class_prior(self._own(context))

    def log_mass_of(self, words: Tensor, context: Tensor | None = None) -> Tensor:
        return self.background.log_mass_of(words, self._own(context))

    def log_masses(self, context: Tensor | None = None) -> Tensor:
        return self.background.log_masses(self._own(context))

    def word_masses(self) -> np.ndarray:
        return self.background.word_masses()

    def draw(self, signatures: Tensor, context: Tensor | None, chance: Chance) -> Tensor:
        return self.background.draw(signatures, self._own(context), chance)

    def contenders(self, k: int) -> Tensor:
        return self.background.contenders(k)

    def regrouped(self, features: Features) -> Background:
        return self.background.regrouped(features)

    def check_made_for(self, features: Features) -> None:
        self.background.check_made_for(features)

    @property
    def size(self) -> int:
        return self.background.size

    def _own(self, context: Tensor | None) -> Tensor | None:
        return None if context is None else context[:, : context.shape[1] - self.width]


def expert(
    given: OutputContext,
    *,
    expert: Choice = "copy",
    background_gate: bool = False,
    temperature: bool = False,
) -> ExpertLogLinear:
    """A log-linear output with one more feature, of the words that the context names."""
    layer = ExpertLogLinear(
        given.features,
        given.background,
        given.size,
        expert=EXPERTS.make(expert, given.features),
        weight=given.embedding.weight if given.embedding else None,
        beside=given.beside,
    )
    return layer.adjust(
        given.features, layer.width, background_gate=background_gate, temperature=temperature
    )
