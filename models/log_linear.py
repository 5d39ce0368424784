"""The log-linear output layer of Dymetman & Xiao (2016): exact, at the price of its signatures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Annotated, Any, NamedTuple, TypeVar, cast

import numpy as np
import torch
from torch import Tensor, nn

from accord.models.background import Background, Unigram
from accord.models.common.checks import check_words
from accord.models.common.registry import about
from accord.models.encoder import FeatureEmbedding, FeatureProduct, tied_weight
from accord.models.gpu.kernels import Concurrent, join_bias, log_softmax_at, split_bias, times_rows
from accord.models.inference.interface import no_sum
from accord.models.phi import Features


class OutputLayer(nn.Module):
    """p(x | K) of words x, from h_t (N × H) and the background's context (N × n)."""

    def loss(self, h: Tensor, targets: Tensor, context: Tensor | None = None) -> Tensor:
        """Return the mean nats per target (N)."""
        return -self.log_prob_of(h, targets, context).mean()

    def log_prob_of(self, h: Tensor, words: Tensor, context: Tensor | None = None) -> Tensor:
        """Return log p of one word in each state, or of several: in the shape of `words`, (N …)."""
        raise NotImplementedError

    def log_prob(self, h: Tensor, context: Tensor | None = None) -> Tensor:
        """Return log p of every word: (N × V)."""
        raise NotImplementedError


class LogLinear(OutputLayer):
    """p(x | K) = b(K, x) · exp(a_t·φ(K, x)) / Z(K), with the adaptor a_t = W·h_t + c.

    Words of one signature s share a_t·φ_s, so with B_s = Σ_{x∈s} b(K, x)

        log p(s | K) = log B_s + a_t·φ_s − log Z,    log Z = logsumexp_s(log B_s + a_t·φ_s)
        log p(x | K) = log p(s(x) | K) + log b(K, x)/B_s(x)

    The last term has no parameters, hence no gradient: training costs what a softmax over the
    signatures costs. A word without mass has the log-probability −inf and the loss +inf.

    With `weight`, W is shared with the input embedding. The last `extra` entries of each state have
    a weight matrix of their own.

    With a gate, the network also weighs the context's evidence in the background, as a further
    feature of every signature, B_s being its mass without the context:

        log p(s | K) = log B_s + λ_t·log B_s(K)/B_s + a_t·φ_s − log Z,    λ_t = w·h_t + λ

    λ_t is one half before training. With a temperature T, all scores of signatures are divided by
    T. T is 1 during training and is then fitted on validation text (accord.models.calibration),
    and so is the `Calibration` of rare words.
    """

    signature: Tensor  # of every word: (V)
    compiled: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor] | None = None  # on a GPU

    def __init__(
        self,
        features: Features,
        background: Background,
        size: int,
        *,
        weight: nn.Parameter | None = None,
        extra: int = 0,
        background_gate: bool = False,
        temperature: bool = False,
        calibration: bool = False,
    ):
        super().__init__()
        background.check_features(features)
        self.background, self.width = background, size + extra
        self.product = FeatureProduct(features)
        self.weight = tied_weight(weight, features.feature_count, size)
        self.bias = nn.Parameter(torch.zeros(features.feature_count))
        extra_weight = nn.Parameter(torch.zeros(features.feature_count, extra))
        self.label_weight = extra_weight if extra else None
        self.register_buffer("signature", torch.from_numpy(features.signature), persistent=False)
        self.background_gate: nn.Linear | None = None
        self.inverse_temperature: nn.Parameter | None = None
        self.calibration: Calibration | None = None
        if background_gate:
            self.background_gate = nn.Linear(self.width, 1)
            nn.init.zeros_(self.background_gate.weight)
            nn.init.constant_(self.background_gate.bias, 0.5)
        if temperature:  # no gradient trains it, but it is saved with the weights
            self.inverse_temperature = nn.Parameter(torch.ones(()), requires_grad=False)
        if calibration:
            self.calibration = Calibration(features, background.word_masses())

    @property
    def is_static(self) -> bool:
        """Return whether a GPU computes a training step without waiting for itself."""
        return self.background.is_static

    @property
    def whole_weight(self) -> Tensor:
        """Return W with the weights of the extra entries: (F × H)."""
        if self.label_weight is None:
            return self.weight
        return torch.cat([self.weight, self.label_weight], dim=1)

    def adaptor(self, h: Tensor) -> Tensor:
        """Return a_t = W·h_t + c, one weight per feature: (N × F)."""
        return self.scaled(nn.functional.linear(h, self.whole_weight, self.bias))

    def scaled(self, scores: Tensor) -> Tensor:
        """Divide scores by the temperature."""
        return scores if self.inverse_temperature is None else scores * self.inverse_temperature

    def score_signatures(
        self, h: Tensor, context: Tensor | None = None, terms: "SignatureTerms | None" = None
    ) -> "ScoredSignatures":
        """Score the signatures in each state, in the precision of the weights."""
        terms = terms or SignatureTerms(*self.masses(context), *self.rows(self._joined_weight()))
        trusted = self.trusted(h, terms.prior, terms.evidence)
        # Scaled before they are many: the scores of all signatures are never read once more.
        logits = times_rows(self.scaled(h), terms.rows) + self.scaled(trusted + terms.bias)
        return ScoredSignatures(
            terms.log_mass, logits, self.signature, terms.rows, self.calibration
        )

    def masses(self, context: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return log B_s(K), the term of it that always counts, and the one that the gate weighs.

        Without a gate the first term is all of it.
        """
        dtype, is_gated = self.bias.dtype, self.background_gate is not None
        prior, evidence = self.background.class_terms(context, split=is_gated)
        if evidence is None:
            return prior, prior.to(dtype), None
        return prior + evidence, prior.to(dtype), evidence.to(dtype)

    def trusted(self, h: Tensor, prior: Tensor, evidence: Tensor | None) -> Tensor:
        """Return log B_s(K), its evidence weighed by the gate in each state."""
        if evidence is None or self.background_gate is None:
            return prior
        return torch.addcmul(prior, self.background_gate(h).to(prior.dtype), evidence)

    def rows(self, joined_weight: Tensor) -> tuple[Tensor, Tensor]:
        """Return Φ·W (S × H) and Φ·c + θ (S), by one product."""
        rows, bias = split_bias(self.product(joined_weight), self.width)
        return rows, self._calibrated(bias)

    def _joined_weight(self) -> Tensor:
        return join_bias(self.whole_weight, self.bias)

    def _calibrated(self, bias: Tensor) -> Tensor:
        return bias + self.calibration.bias() if self.calibration else bias

    def begin(self, words: Tensor, context: Tensor) -> "Callable[[], SignatureTerms] | None":
        """Start computing the terms that need no state; return a function that returns them.

        A GPU computes them concurrently to the encoder. Two forward passes over a window share
        them.
        """
        check_words("words", words, len(self.signature))
        compute = Concurrent if self.background.is_static else partial
        masses = compute(self.masses, context)
        rows = compute(self.rows, self._joined_weight())
        log_mass = compute(self._log_mass_of, words.unsqueeze(1), context)
        return cache(lambda: SignatureTerms(*masses(), *rows(), *log_mass()))

    def _log_mass_of(self, words: Tensor, context: Tensor) -> tuple[Tensor]:
        return (self.background.log_mass_of(words, context),)

    def loss(
        self,
        h: Tensor,
        targets: Tensor,
        context: Tensor | None = None,
        scored: "ScoredSignatures | None" = None,
        log_mass: Tensor | None = None,
    ) -> Tensor:
        """Return the mean nats per target. Its gradient on a_t is E_p[φ(K, x)] − φ(K, x̄).

        Signatures that are `scored` already are not scored again, and log b(K, x) of the targets,
        `log_mass` (N × 1), is not looked up again.
        """
        return -self.log_prob_of(h, targets, context, scored, log_mass).mean()

    def compiled_loss(
        self,
        h: Tensor,
        targets: Tensor,
        terms: "SignatureTerms",
        nats_of: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor],
    ) -> Tensor:
        """Return the mean nats per target, those of signatures by compiled code."""
        signatures, bias = self.signature[targets], self.scaled(terms.prior + terms.bias)
        nats = nats_of(self.scaled(h), terms.rows, bias, signatures)
        log_mass = cast(Tensor, terms.log_mass_of_words).squeeze(1)
        return nats - log_share(log_mass, terms.log_mass[signatures]).mean()

    def log_prob_of(
        self,
        h: Tensor,
        words: Tensor,
        context: Tensor | None = None,
        scored: "ScoredSignatures | None" = None,
        log_mass: Tensor | None = None,
    ) -> Tensor:
        check_words("words", words, len(self.signature))
        rows = words.view(len(words), -1)
        scored = scored or self.score_signatures(h, context)
        if log_mass is None:
            log_mass = self.background.log_mass_of(rows, context)
        return scored.log_prob(rows, log_mass).view_as(words)

    def log_prob(self, h: Tensor, context: Tensor | None = None) -> Tensor:
        every_word = torch.arange(len(self.signature), device=h.device).expand(len(h), -1)
        log_mass = self.background.log_mass_of(None, context).expand(len(h), -1)
        return self.score_signatures(h, context).log_prob(every_word, log_mass)

    def context_terms(self, h: Tensor, context: Tensor | None) -> list[dict[int, float]]:
        """Return the words with a term of their own in each state, and these terms in nats."""
        return [{} for _ in range(len(h))]

    def log_background_of(self, h: Tensor, words: Tensor, context: Tensor | None = None) -> Tensor:
        """Return log b(K, x) of words (N …), with the gate's weight, θ and temperature."""
        rows = words.view(len(words), -1)
        log_mass, prior, evidence = self.masses(context)
        weighed = self.scaled(self._calibrated(self.trusted(h, prior, evidence)))
        signature, weighed = self.signature[rows], weighed.expand(len(h), -1)
        log_mass = log_mass.expand(len(h), -1).gather(1, signature)
        share = log_share(self.background.log_mass_of(rows, context), log_mass)
        if self.calibration:
            share = self.calibration.log_share(share, rows)
        return (weighed.gather(1, signature) + share).view_as(words)


class SignatureTerms(NamedTuple):
    """The terms of signatures and targets that need no state."""

    log_mass: Tensor  # log B_s(K)
    prior: Tensor  # the term of it that counts in every state: all of it without a gate
    evidence: Tensor | None  # the term that the gate weighs
    rows: Tensor  # Φ·W (S × H)
    bias: Tensor  # Φ·c + θ (S)
    log_mass_of_words: Tensor | None = None  # log b(K, x) of the targets: (N × 1)


@dataclass(frozen=True)
class ScoredSignatures:
    """Classes of words that share a score, for a batch of contexts: here the signatures."""

    log_mass: Tensor  # log B of each class: (S), or (N × C) where it depends on the context
    logits: Tensor  # log B + a_t·φ of each class: (N × C)
    signature: Tensor  # of every word: (V)
    rows: Tensor  # Φ·W of each signature, by which it is scored: (S × H)
    calibration: "Calibration | None" = None

    @cached_property
    def log_p(self) -> Tensor:
        """Return log p(class | K) = log B + a_t·φ − log Z: (N × C)."""
        return self.logits.log_softmax(dim=1)

    def classes(self, words: Tensor) -> Tensor:
        """Return the class of each word in each context: (N × M)."""
        return self.signature[words]

    def log_prob(self, words: Tensor, log_mass: Tensor) -> Tensor:
        """Return log p(x | K) = log p(class | K) + log b(x)/B of words in each context: (N × M)."""
        classes = self.classes(words)
        share = log_share(log_mass, self.log_mass.expand(len(classes), -1).gather(1, classes))
        if self.calibration:
            share = self.calibration.log_share(share, words)
        if self.logits.requires_grad:  # training computes p of these classes alone
            return log_softmax_at(self.logits, classes) + share.to(self.logits.dtype)
        return self.log_p.gather(1, classes) + share.to(self.logits.dtype)


def log_share(log_mass: Tensor, of_class: Tensor) -> Tensor:
    """Return log b(x)/B, the share of each word in its class. It has no gradient.

    A word without mass has no share, also where its class has no mass: −inf, not NaN.
    """
    return (log_mass - of_class).nan_to_num(nan=-torch.inf, posinf=-torch.inf, neginf=-torch.inf)


OCTAVES = 32  # from words that are all of the text to those that are one in four billion


class Calibration(nn.Module):
    """Two corrections, fitted by accord.models.calibration; they have no effect before.

        log p(s | K) = log B_s(K) + a_t·φ_s + θ_o(s) − log Z,    o(s) = ⌊−log₂ b_s/|s|⌋
        p(x | s, K) = μ·b(K, x)/B_s(K) + (1 − μ)·b(x)/b_s

    b(x) is the mass of a word without the context and b_s its sum over the |s| words of a
    signature. θ makes words of one octave of frequency likelier or less likely: training does not
    show how often a word seen once recurs, nor how often an unseen one occurs. μ is the weight of
    the context in sharing a signature's mass. The network weighs the n-grams' evidence for
    signatures, but not for the words in them, and n-grams find a word that they know from one
    context too unlikely in all others.
    """

    octave: Tensor  # of every signature (S)
    prior_share: Tensor  # log b(x)/b_s of every word (V)

    def __init__(self, features: Features, word_masses: np.ndarray):
        super().__init__()
        prior = Unigram(features, word_masses)
        words = torch.from_numpy(np.bincount(features.signature)).log()
        octave = ((words - prior.log_sums) / np.log(2)).clamp(0, OCTAVES - 1).long()
        self.register_buffer("octave", octave, persistent=False)
        self.register_buffer("prior_share", prior.log_share(), persistent=False)
        self.of_octaves = nn.Parameter(torch.zeros(OCTAVES), requires_grad=False)
        self.context_share = nn.Parameter(torch.ones(()), requires_grad=False)

    def bias(self) -> Tensor:
        """Return θ of every signature: (S)."""
        return self.of_octaves[self.octave]

    def log_share(self, in_context: Tensor, words: Tensor) -> Tensor:
        """Return log p(x | s, K) of words from log b(K, x)/B_s(K)."""
        share = self.context_share.to(in_context.dtype)
        prior = self.prior_share[words].to(in_context.dtype)
        return torch.logaddexp(share.log() + in_context, (1 - share).log() + prior)


def log_linear_of(model: nn.Module) -> LogLinear:
    """Return a model's log-linear output; an error if its scores are no sums over features."""
    output = getattr(model, "output", model)
    if not isinstance(output, LogLinear):
        raise no_sum(model)
    return output


class Described(NamedTuple):
    """The forms of all words and the names of all features."""

    forms: Sequence[str]
    names: Sequence[str]


Kind = TypeVar("Kind", bound=LogLinear)


@dataclass(frozen=True)
class OutputContext:
    """The arguments of every output: the words by their features, b, and sizes of the network."""

    name: str  # of the output, for errors
    features: Features
    background: Background
    size: int  # of h
    embedding: FeatureEmbedding | None  # its weights are the output's, if it is tied
    classes: np.ndarray | None  # of each word
    extra: int = 0  # entries of each state after h
    described: Callable[[], Described] | None = None  # for outputs that read forms and names

    def log_linear(self, kind: type[Kind], **settings: Any) -> Kind:
        """Return a log-linear output of a kind, tied to the embedding if the model is."""
        weight = self.embedding.weight if self.embedding else None
        settings |= {"weight": weight, "extra": self.extra}
        return kind(self.features, self.background, self.size, **settings)


# Settings of outputs with features
Gate = Annotated[bool, "the network weighs the evidence of the background at each step"]
Temperature = Annotated[bool, "of p, fitted on validation after the training"]


@about(log_linear=True)
def log_linear(
    output: OutputContext,
    *,
    background_gate: Gate = False,
    temperature: Temperature = False,
    calibration: Annotated[
        bool,
        "how likely words of each frequency are, and how far those of a signature share its mass "
        "by the context, fitted on validation after the training",
    ] = False,
) -> LogLinear:
    """A sum over the features of a word, with weights that the network chooses at every step."""
    return output.log_linear(
        LogLinear, background_gate=background_gate, temperature=temperature, calibration=calibration
    )
