"""Signatures as a layer scores them: the shares of their words, gate, temperature, calibration."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn

from accord.models.background import Background, Chance, Unigram
from accord.models.data import Sentences
from accord.models.gpu.kernels import log_softmax_at
from accord.models.phi import Features
from accord.models.softmax import OutputLayer

OCTAVES = 32  # from words that are all of the text to those that are one in four billion


class Calibration(nn.Module):
    """Two corrections, which accord.models.calibration fits, without effect before:

        log p(s | K) = log B_s(K) + a_t·φ_s + θ_o(s) − log Z,    o(s) = ⌊−log₂ b_s/|s|⌋
        p(x | s, K) = μ·b(K, x)/B_s(K) + (1 − μ)·b(x)/b_s

    b(x) being the mass of a word before the context speaks and b_s the sum of it over the |s| words
    of a signature. θ makes words of one octave of frequency likelier or less likely: training
    cannot tell how often words that it has once come again, nor those that it lacks. μ is how far
    words of a signature share its mass by the context. Of signatures the network weighs what
    n-grams say; of the words in them it cannot, and n-grams find a word that they know from one
    context too unlikely in all others.
    """

    octave: Tensor  # of every signature (S)
    prior_share: Tensor  # log b(x)/b_s of every word (V)

    def __init__(self, features: Features, word_masses: np.ndarray):
        super().__init__()
        self.prior = prior = Unigram(features, word_masses)
        words = torch.from_numpy(np.bincount(features.signature)).log()
        octave = ((words - prior.class_mass()) / np.log(2)).clamp(0, OCTAVES - 1).long()
        self.register_buffer("octave", octave, persistent=False)
        self.register_buffer("prior_share", prior.log_share(), persistent=False)
        self.of_octaves = nn.Parameter(torch.zeros(OCTAVES), requires_grad=False)
        self.context_share = nn.Parameter(torch.ones(()), requires_grad=False)

    def bias(self) -> Tensor:
        """θ of every signature: (S)."""
        return self.of_octaves[self.octave]

    def log_share(self, by_context: Tensor, words: Tensor) -> Tensor:
        """log p(x | s, K) of some words, by log b(K, x)/B_s(K) of them."""
        return self.mixed(by_context, self.prior_share[words])

    def mixed(self, by_context: Tensor, without: Tensor) -> Tensor:
        """The log of a share in a signature, from the shares with and without K."""
        share = self.context_share.to(by_context.dtype)
        without = without.to(by_context.dtype)
        return torch.logaddexp(share.log() + by_context, (1 - share).log() + without)


class BeforeState(NamedTuple):
    """The terms of signatures and targets that need no state."""

    log_mass: Tensor  # log B_s(K)
    prior: Tensor  # the part of it that is trusted in every state: all of it without a gate
    evidence: Tensor | None  # the part that a gate weighs
    rows: Tensor  # Φ·W (S × H)
    bias: Tensor  # Φ·c (S)
    of_words: Tensor | None = None  # log b(K, x) of the words that are asked for: (N × M)


@dataclass(frozen=True)
class ScoredSignatures:
    """The classes of words that share a score a_t·φ, for a batch of contexts.

    They are the signatures and, where the context names words (the paper's *expert feature*), each
    named word: it leaves its signature and is a class of its own. All else is then the same.
    """

    log_mass: Tensor  # log B of each class: (S), or (N × C) where it depends on the context
    logits: Tensor  # log B + a_t·φ of each class: (N × C)
    signature: Tensor  # of every word: (V)
    named: Tensor  # the words set apart: (N × P), −1 where fewer are; P = C − S
    rows: Tensor  # Φ·W of each signature, by which it is scored: (S × H)
    calibration: Calibration | None = None  # of shares; there are no named words then

    @cached_property
    def log_p(self) -> Tensor:
        """log p(class | K) = log B + a_t·φ − log Z: (N × C)."""
        return self.logits.log_softmax(dim=1)

    @property
    def signatures(self) -> int:
        return self.logits.shape[1] - self.named.shape[1]

    def of(self, words: Tensor) -> Tensor:
        """The class of each of some words in each context: (N × M)."""
        classes = self.signature[words]
        for number, named in enumerate(self.named.T, start=self.signatures):
            classes = torch.where(words == named.unsqueeze(1), number, classes)
        return classes

    def log_prob(self, words: Tensor, log_mass: Tensor) -> Tensor:
        """log p(x | K) = log p(class | K) + log b(x)/B of some words in each context: (N × M)."""
        classes = self.of(words)
        share = share_of(words, log_mass, self._masses_at(classes), self.calibration)
        return self._log_p_of(classes) + share.to(self.logits.dtype)

    def _log_p_of(self, classes: Tensor) -> Tensor:
        """log p of some classes (N × M); in training only these are computed."""
        if self.logits.requires_grad:
            return log_softmax_at(self.logits, classes)
        return self.log_p.gather(1, classes)

    def only_word(self, classes: Tensor) -> Tensor:
        """The word that each class was set apart for, −1 for a signature: (N × 1)."""
        named = nn.functional.pad(self.named, (1, 0), value=-1)
        return named.gather(1, (classes - self.signatures + 1).clamp(min=0))

    def naming(self, words: Tensor, log_mass: Tensor, evidence: Tensor) -> "ScoredSignatures":
        """Set words apart, each with what the expert feature adds to its score: all (N × P)."""
        words = _once(words)
        signature = self.signature[words.clamp(min=0)]
        log_mass = log_mass.masked_fill(words < 0, -torch.inf)
        share = share_in_class(log_mass, self._masses_at(signature))
        before = self.log_mass.expand(len(words), -1)
        taken = torch.zeros_like(before, dtype=share.dtype).scatter_add(1, signature, share.exp())
        left = torch.log1p(-taken.clamp(max=1))
        scores = self.logits.gather(1, signature) + share.to(self.logits.dtype) + evidence
        return ScoredSignatures(
            log_mass=torch.cat([before + left, log_mass], dim=1),
            logits=torch.cat([self.logits + left.to(self.logits.dtype), scores], dim=1),
            signature=self.signature,
            named=words,
            rows=self.rows,
        )

    def _masses_at(self, classes: Tensor) -> Tensor:
        return self.log_mass.expand(len(classes), -1).gather(1, classes)


def share_of(
    words: Tensor, log_mass: Tensor, of_class: Tensor, calibration: Calibration | None
) -> Tensor:
    """log p(x | s, K) of some words, by log b(K, x) of them and log B of their classes."""
    share = share_in_class(log_mass, of_class)
    return calibration.log_share(share, words) if calibration else share


def share_in_class(log_mass: Tensor, of_class: Tensor) -> Tensor:
    """log b(x)/B, the part that each word has in its class. It has no gradient.

    A word without mass has no share, also where its class has no mass: −inf, not NaN.
    """
    return (log_mass - of_class).nan_to_num(nan=-torch.inf, posinf=-torch.inf, neginf=-torch.inf)


def _once(words: Tensor) -> Tensor:
    """Count a word once that a context names twice, with its first value."""
    same = words.unsqueeze(2) == words.unsqueeze(1)
    return words.masked_fill(same.tril(-1).any(dim=2), -1)


class Regrouped(Background):
    """Masses with which a layer over split signatures gives every word the p that it had before.

    Neither a gate's log B_s + λ_t·log B_s(K)/B_s nor a power of p is a sum over parts q of s. So
    these have the score of the whole and their share in it, which 1/T must not change:

        log B_q = log B_s + θ_s + T·log p(q | s, K),    log B_q(K)/B_q = log B_s(K)/B_s
    """

    is_of_parts = True
    above: Tensor  # the whole signature of every part
    signature: Tensor  # the part of every word (V)
    prior_share: Tensor  # of every part in its signature before the context speaks, if calibrated

    def __init__(
        self,
        features: Features,
        whole: Background,
        calibration: Calibration | None,
        inverse_temperature: Tensor | None,
    ):
        super().__init__(features)
        self.whole, self.calibration, self.sharpness = whole, calibration, inverse_temperature
        self.background = whole.regrouped(features)  # b as it is, of the parts
        above = torch.from_numpy(features.group_of_signatures("signature", whole.of_word))
        for name, numbers in (("above", above), ("signature", torch.from_numpy(self.of_word))):
            self.register_buffer(name, numbers, persistent=False)
        if calibration:
            of_words = calibration.prior_share.cpu().exp().numpy()
            of_parts = np.bincount(features.signature, of_words, features.signature_count)
            self.register_buffer("prior_share", torch.from_numpy(of_parts).log(), persistent=False)

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        return self.whole.contexts(sentences, training)

    def class_evidence(self, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        prior, evidence, share = self._shared(context)
        return prior + self._added(share), evidence

    def class_mass(self, context: Tensor | None = None) -> Tensor:
        prior, evidence = self.class_evidence(context)
        return prior + evidence

    def class_prior(self, context: Tensor | None = None) -> Tensor:
        return self.class_evidence(context)[0]

    def log_mass_of(self, words: Tensor, context: Tensor | None = None) -> Tensor:
        prior, evidence, share = self._shared(context)
        of_whole, of_part, share = (
            each.expand(len(words), -1).gather(1, self.signature[words])
            for each in (prior + evidence, prior + evidence + self._added(share), share)
        )
        log_mass = self.whole.log_mass_of(words, context)
        in_whole = share_of(words, log_mass, of_whole, self.calibration)
        return of_part + share_in_class(in_whole, share)

    def _shared(self, context: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """log B_s and log B_s(K)/B_s of the whole, and log p(q | s, K), for each part."""
        prior, evidence = (each[..., self.above] for each in self.whole.class_evidence(context))
        share = share_in_class(self.background.class_mass(context), prior + evidence)
        if self.calibration:
            share = self.calibration.mixed(share, self.prior_share)
        return prior, evidence, share

    def _added(self, share: Tensor) -> Tensor:
        """θ_s, and T times the share, so that it is what it was once the layer divides by T."""
        added = share if self.sharpness is None else share / self.sharpness
        return added + self.calibration.bias()[self.above] if self.calibration else added

    def contenders(self, k: int) -> Tensor:
        return self.background.contenders(k)

    def draw(self, signatures: Tensor, context: Tensor | None, chance: Chance) -> Tensor:
        if isinstance(self.background, Unigram):  # which shares as before, and draws at once
            return self.background.draw(signatures, context, chance)
        return super().draw(signatures, context, chance)

    def fixed_shares(self) -> Tensor | None:
        return self.background.fixed_shares()

    def word_masses(self) -> np.ndarray:
        return self.whole.word_masses()

    def regrouped(self, features: Features) -> "Regrouped":
        return Regrouped(features, self.whole, self.calibration, self.sharpness)

    @property
    def size(self) -> int:
        return self.whole.size


class Adjustable(OutputLayer):
    """A layer over signatures, with optional gate, temperature and calibration.

    With a gate, the network also weighs what a background says of the context, by a further
    feature log B_s(K)/B_s of every signature, B_s being its mass before the context speaks:

        log p(s | K) = log B_s + λ_t·log B_s(K)/B_s + a_t·φ_s − log Z,    λ_t = w·h_t + λ

    With a temperature T, all scores of signatures are divided by T. T is 1 while the network
    learns and is then fitted on validation text (accord.models.calibration), and so is
    the calibration of rare words.
    """

    background: Background
    bias: nn.Parameter  # c
    signature: Tensor  # of every word: (V)

    def __init__(self):
        super().__init__()
        self.background_gate: nn.Linear | None = None
        self.inverse_temperature: nn.Parameter | None = None
        self.calibration: Calibration | None = None

    def adjust(
        self,
        features: Features,
        width: int,
        *,
        background_gate: bool = False,
        temperature: bool = False,
        calibration: bool = False,
    ) -> Self:
        """Add some of them, for states of this width. λ_t is one half before training."""
        if background_gate:
            self.background_gate = nn.Linear(width, 1)
            nn.init.zeros_(self.background_gate.weight)
            nn.init.constant_(self.background_gate.bias, 0.5)
        if temperature:  # no weight that is learned, but kept with these
            self.inverse_temperature = nn.Parameter(torch.ones(()), requires_grad=False)
        if calibration:
            self.calibration = Calibration(features, self.background.word_masses())
        return self

    def scaled(self, scores: Tensor) -> Tensor:
        """Scores over the temperature."""
        return scores if self.inverse_temperature is None else scores * self.inverse_temperature

    def with_calibration(self, bias: Tensor) -> Tensor:
        """Scores of all signatures, with calibration."""
        return bias + self.calibration.bias() if self.calibration else bias

    def masses(self, context: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """log B_s(K), and its two parts: one that always counts, and one that the gate weighs.

        Without a gate the first part is all of it.
        """
        dtype = self.bias.dtype
        if self.background_gate is None:
            log_mass = self.background.class_mass(context)
            return log_mass, log_mass.to(dtype), None
        prior, evidence = self.background.class_evidence(context)
        return prior + evidence, prior.to(dtype), evidence.to(dtype)

    def trusted(self, h: Tensor, prior: Tensor, evidence: Tensor | None) -> Tensor:
        """log B_s(K) as far as it is trusted in each state."""
        if evidence is None or self.background_gate is None:
            return prior
        return torch.addcmul(prior, self.background_gate(h).to(prior.dtype), evidence)

    def log_background_of(self, h: Tensor, words: Tensor, context: Tensor | None = None) -> Tensor:
        """log b(K, x), as far as the background is trusted, of words (N …) in each state."""
        asked = words.view(len(words), -1)
        log_mass, prior, evidence = self.masses(context)
        trusted = self.with_calibration(self.trusted(h, prior, evidence))
        signature = self.signature[asked]
        believed, of_class = (
            each.expand(len(h), -1).gather(1, signature)
            for each in (self.scaled(trusted), log_mass)
        )
        of_words = self.background.log_mass_of(asked, context)
        share = share_of(asked, of_words, of_class, self.calibration)
        return (believed + share).view_as(words)

    def draw(self, signatures: Tensor, context: Tensor | None, chance: Chance) -> Tensor:
        """A word of each signature (N), by its share there."""
        drawn = self.background.draw(signatures, context, chance)
        if self.calibration is None:
            return drawn
        lot = torch.rand(drawn.shape, device=drawn.device, generator=chance)
        by_context = lot < self.calibration.context_share
        return torch.where(by_context, drawn, self.calibration.prior.draw(signatures, None, chance))

    def regrouped(self, features: Features) -> Background:
        """b of a layer over other signatures, with the same weights."""
        return self.regrouped_from(self.background, features)

    def regrouped_from(self, own: Background, features: Features) -> Background:
        adjusted = self.calibration, self.inverse_temperature
        is_a_sum = self.background_gate is None and adjusted == (None, None)
        if is_a_sum or own.is_of_parts:
            return own.regrouped(features)
        return Regrouped(features, own, *adjusted)
