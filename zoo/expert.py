"""The paper's *expert feature* φ_e(K, x): one more feature, for the few words that K names.

An expert is made from Φ and has `contexts(sentences)`, what it keeps of the words before each word
of a text (N × n), and `named(kept)`, which words these contexts name (N × P; −1 where fewer are)
and the value that the feature has for each of them (N × P); for all other words it is 0.
"""

from dataclasses import dataclass, field
from typing import Annotated, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from accord.models.background import Background, ClassTerms, required
from accord.models.common.checks import check_words
from accord.models.common.registry import Choice, Registry, about
from accord.models.common.schema import Range
from accord.models.data import NO_WORD, Sentences, preceding
from accord.models.log_linear import (
    Gate,
    LogLinear,
    OutputContext,
    ScoredSignatures,
    SignatureTerms,
    Temperature,
    log_share,
)
from accord.models.phi import Features

# Which words an expert feature is of: classes that are made from Φ.
EXPERTS = Registry("expert", "accord.experts")


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
        reach: Annotated[int, Range(ge=1), "words back"] = 20,
    ):
        self.reach = reach

    def contexts(self, sentences: Sentences) -> np.ndarray:
        return preceding(sentences, self.reach, NO_WORD)

    def named(self, kept: Tensor) -> tuple[Tensor, Tensor]:
        return kept, torch.ones_like(kept, dtype=torch.float32)


@dataclass(frozen=True)
class NamedWords(ScoredSignatures):
    """Signatures and, after them, the words that the context names, each a class of its own.

    A named word leaves its signature. All else is as for signatures.
    """

    named: Tensor = field(kw_only=True)  # (N × P), −1 where fewer are; P = C − S

    def classes(self, words: Tensor) -> Tensor:
        classes, signatures = self.signature[words], self.logits.shape[1] - self.named.shape[1]
        for number, named in enumerate(self.named.T, start=signatures):
            classes = torch.where(words == named.unsqueeze(1), number, classes)
        return classes


def naming(
    scored: ScoredSignatures, words: Tensor, log_mass: Tensor, evidence: Tensor
) -> NamedWords:
    """Give words classes of their own, with the expert feature's term in their scores (N × P)."""
    words = _once(words)
    signature = scored.signature[words.clamp(min=0)]
    log_mass = log_mass.masked_fill(words < 0, -torch.inf)
    of_signatures = scored.log_mass.expand(len(words), -1)
    share = log_share(log_mass, of_signatures.gather(1, signature))
    taken = torch.zeros_like(of_signatures, dtype=share.dtype)
    left = torch.log1p(-taken.scatter_add(1, signature, share.exp()).clamp(max=1))
    scores = scored.logits.gather(1, signature) + share.to(scored.logits.dtype) + evidence
    return NamedWords(
        log_mass=torch.cat([of_signatures + left, log_mass], dim=1),
        logits=torch.cat([scored.logits + left.to(scored.logits.dtype), scores], dim=1),
        signature=scored.signature,
        rows=scored.rows,
        named=words,
    )


def _once(words: Tensor) -> Tensor:
    """Count a word once that a context names twice, with its first value."""
    same = words.unsqueeze(2) == words.unsqueeze(1)
    return words.masked_fill(same.tril(-1).any(dim=2), -1)


class ExpertLogLinear(LogLinear):
    """A log-linear layer with one more feature, whose weight a_e = w·h_t is not over 1/T."""

    background: "ExpertBackground"

    def __init__(
        self, features: Features, background: Background, size: int, *, expert: Naming, **settings
    ):
        super().__init__(features, ExpertBackground(features, background, expert), size, **settings)
        self.expert_weight = nn.Parameter(torch.zeros(1, self.width))

    def score_signatures(
        self, h: Tensor, context: Tensor | None, terms: SignatureTerms | None = None
    ) -> NamedWords:
        """Score the signatures, and each word that the expert names."""
        words, values = self.background.named(context)
        check_words("the expert's words", words, len(self.signature), least=-1)
        evidence = h @ self.expert_weight.T * values
        log_mass = self.background.log_mass_of(words.clamp(min=0), context)
        return naming(super().score_signatures(h, context, terms), words, log_mass, evidence)

    def adaptor(self, h: Tensor) -> Tensor:
        """Return one weight per feature, the expert's last: (N × F + 1)."""
        return torch.cat([super().adaptor(h), h @ self.expert_weight.T], dim=1)

    def context_terms(self, h: Tensor, context: Tensor | None) -> list[dict[int, float]]:
        words, values = self.background.named(context)
        nats = (h @ self.expert_weight.T).double() * values
        rows = zip(words.tolist(), nats.tolist(), strict=True)
        # A word that is named twice has its first value.
        return [dict(zip(reversed(ids), reversed(terms), strict=True)) for ids, terms in rows]


class ExpertBackground(Background):
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
        context = required(context)
        return context[:, context.shape[1] - self.width :].long()

    def class_terms(self, context: Tensor | None = None, split: bool = False) -> ClassTerms:
        return self.background.class_terms(self._own(context), split)

    def log_mass_of(self, words: Tensor | None, context: Tensor | None = None) -> Tensor:
        return self.background.log_mass_of(words, self._own(context))

    def word_masses(self) -> np.ndarray:
        return self.background.word_masses()

    def check_features(self, features: Features) -> None:
        self.background.check_features(features)

    @property
    def size(self) -> int:
        return self.background.size

    def _own(self, context: Tensor | None) -> Tensor | None:
        return None if context is None else context[:, : context.shape[1] - self.width]


@about(log_linear=True)
def expert(
    given: OutputContext,
    *,
    expert: Annotated[Choice, EXPERTS, "which words these are"] = "copy",
    background_gate: Gate = False,
    temperature: Temperature = False,
) -> ExpertLogLinear:
    """A log-linear output with one more feature, of the words that the context names."""
    return given.log_linear(
        ExpertLogLinear,
        expert=EXPERTS.make(expert, given.features),
        background_gate=background_gate,
        temperature=temperature,
    )
