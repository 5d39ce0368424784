"""The log-linear output layer of Dymetman & Xiao (2016): exact, and as cheap as its signatures."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from models.background.base import Background, Chance
from models.common.aside import Aside
from models.common.checks import check_words
from models.features.phi import Features
from models.features.product import FeatureProduct, tied_weight
from models.outputs.beside_expert import BesideExpert
from models.outputs.given import Given
from models.outputs.signatures.calibration import Calibration
from models.outputs.signatures.regrouped import Regrouped
from models.outputs.signatures.scored_classes import Classes, log_share_of
from models.outputs.signatures.times_rows import times_rows
from models.parts import EXPERTS

ALIGNED = 4  # numbers, of which the width of a matrix is a multiple for products in TF32
BLOCK = 1 << 14  # words scored at a time where all are asked for

Named = Callable[[Tensor], tuple[Tensor, Tensor]]


class Begun(NamedTuple):
    """What is known of the classes in some contexts before a state is, and of words there."""

    log_mass: Tensor  # log B_s(K)
    prior: Tensor  # the part of it that is trusted in every state: all of it without a gate
    evidence: Tensor | None  # the part that a gate weighs
    rows: Tensor  # Φ·W (S × H)
    bias: Tensor  # Φ·c (S)
    of_words: Tensor | None = None  # log b(K, x) of the words that are asked for: (N × M)


class LogLinear(nn.Module):
    """p(x | K) = b(K, x) · exp(a_t·φ(K, x)) / Z(K), with the adaptor a_t = W·h_t + c.

    Words of one signature s share a_t·φ_s, so with B_s = Σ_{x∈s} b(K, x)

        log p(s | K) = log B_s + a_t·φ_s − log Z,    log Z = logsumexp_s(log B_s + a_t·φ_s)
        log p(x | K) = log p(s(x) | K) + log b(K, x)/B_s(x)

    The last term has no parameters, hence no gradient: training costs what a softmax over the
    signatures costs. A word without mass has the log-probability −inf and the loss +inf.

    With `background_gate`, the network also weighs what a background says of the context, by a
    further feature log B_s(K)/B_s of every signature, B_s being its mass before the context speaks:

        log p(s | K) = log B_s + λ_t·log B_s(K)/B_s + a_t·φ_s − log Z,    λ_t = w·h_t + λ

    With `temperature`, all scores of signatures are multiplied by 1/T, which is 1 while the network
    learns and is then fitted on validation text (models.training.calibration): the power of p that
    is neither too sure nor too unsure. With `calibration`, so is what is said of rare words
    (models.outputs.signatures.calibration).

    `weight`, where given, is W shared with the input embedding. `expert` maps contexts to words
    (N × P; −1 where there are fewer) and the values (N × P) that one more feature has for them;
    for all other words it is 0. With `labels`, so many behind those of h say which of them a
    sentence has, c, and a_t = W·h_t + U·c + c₀: labels crossed with features.
    """

    def __init__(
        self,
        features: Features,
        background: Background,
        size: int,
        *,
        weight: nn.Parameter | None = None,
        expert: Named | None = None,
        background_gate: bool = False,
        temperature: bool = False,
        calibration: bool = False,
        labels: int = 0,
    ):
        super().__init__()
        background.check_made_for(features)
        self.background = background
        self.product = FeatureProduct(features)
        self.weight = tied_weight(weight, features.feature_count, size)
        self.bias = nn.Parameter(torch.zeros(features.feature_count))
        self.label_weight = (
            nn.Parameter(torch.zeros(features.feature_count, labels)) if labels else None
        )
        self.expert, self.width = expert, size + labels
        self.expert_weight = nn.Parameter(torch.zeros(1, self.width)) if expert else None
        self.background_gate = _half_open(self.width) if background_gate else None
        # 1/T is no weight that is learned, but is kept with these.
        sharpness = nn.Parameter(torch.ones(()), requires_grad=False)
        self.inverse_temperature = sharpness if temperature else None
        self.calibration = Calibration(features, background.word_masses()) if calibration else None
        self.register_buffer("signature", torch.from_numpy(features.signature), persistent=False)

    @property
    def whole_weight(self) -> Tensor:
        """W, and behind it U where labels are crossed with features: (F × H)."""
        if self.label_weight is None:
            return self.weight
        return torch.cat([self.weight, self.label_weight], dim=1)

    def loss(
        self,
        h: Tensor,
        targets: Tensor,
        context: Tensor | None = None,
        classes: Classes | None = None,
        log_mass: Tensor | None = None,
    ) -> Tensor:
        """Nats per target. Its gradient on a_t is E_p[φ(K, x)] − φ(K, x̄).

        Where the `classes` in these states are known already, they are not scored again, nor is
        log b(K, x) of the targets, `log_mass` (N × 1), asked for again.
        """
        return -self.log_prob_of(h, targets, context, classes, log_mass).mean()

    def log_prob_of(
        self,
        h: Tensor,
        words: Tensor,
        context: Tensor | None = None,
        classes: Classes | None = None,
        log_mass: Tensor | None = None,
    ) -> Tensor:
        """log p of one word in each state, or of several: in the shape of `words`, (N …)."""
        check_words("words", words, len(self.signature))
        classes, asked = classes or self.classes(h, context), words.view(len(words), -1)
        if log_mass is None:
            log_mass = self.background.log_mass_of(asked, context)
        return classes.log_prob(asked, log_mass).view_as(words)

    def log_prob(self, h: Tensor, context: Tensor | None = None) -> Tensor:
        """log p of every word: (N × V)."""
        classes = self.classes(h, context)
        log_mass = self.background.log_masses(context).expand(len(h), -1)
        every_word = torch.arange(len(self.signature), device=h.device).expand(len(h), -1)
        blocks = zip(every_word.split(BLOCK, dim=1), log_mass.split(BLOCK, dim=1), strict=True)
        return torch.cat([classes.log_prob(*block) for block in blocks], dim=1)

    def class_log_prob(self, h: Tensor, context: Tensor | None = None) -> Tensor:
        """log p of every class: the signatures, and the words that the expert names: (N × C)."""
        return self.classes(h, context).log_p

    def log_normaliser(self, h: Tensor, context: Tensor | None = None) -> Tensor:
        """log Z(K) in each state: (N)."""
        return self.classes(h, context).logits.logsumexp(dim=1)

    def log_background_of(self, h: Tensor, words: Tensor, context: Tensor | None = None) -> Tensor:
        """log b(K, x), as far as the background is trusted, of words as in `log_prob_of`."""
        asked = words.view(len(words), -1)
        log_mass, *parts = self._masses(context)
        trusted = self._trusted(h, *parts)
        if self.calibration:
            trusted = trusted + self.calibration.bias()
        signature = self.signature[asked]
        believed, of_class = (
            each.expand(len(h), -1).gather(1, signature)
            for each in (self._scaled(trusted), log_mass)
        )
        of_words = self.background.log_mass_of(asked, context)
        share = log_share_of(asked, of_words, of_class, self.calibration)
        return (believed + share).view_as(words)

    def adaptor(self, h: Tensor) -> Tensor:
        """a_t = W·h_t + c, one weight per feature, the expert's last: (N × F)."""
        weights = self._scaled(nn.functional.linear(h, self.whole_weight, self.bias))
        return torch.cat([weights, h @ self.expert_weight.T], dim=1) if self.expert else weights

    def top(self, h: Tensor, k: int, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The k likeliest words, the best first: their log p and their ids, each (N × k)."""
        classes = self.classes(h, context)
        named = classes.named[classes.named >= 0]
        contenders = self.background.contenders(k + classes.named.shape[1])
        best, words = h.new_empty(len(h), 0), self.signature.new_empty(len(h), 0)
        for block, log_p in self._blocks(classes, torch.cat([contenders, named]).unique(), context):
            best, words = torch.cat([best, log_p], dim=1), torch.cat([words, block], dim=1)
            best, at = best.topk(min(k, best.shape[1]), dim=1)
            words = words.gather(1, at)
        return best, words

    @torch.no_grad()
    def sample(
        self, h: Tensor, generator: torch.Generator | None = None, context: Tensor | None = None
    ) -> Tensor:
        """One word in each state, drawn from p: a class first, then a word of it: (N)."""
        classes = self.classes(h, context)
        drawn = classes.log_p.exp().multinomial(1, generator=generator)
        words = classes.only_word(drawn)
        while (open := words < 0).any():  # once, unless a draw hits a word that was set apart
            signature = drawn.clamp(max=classes.signatures - 1).squeeze(1)
            proposed = self._draw(signature, context, generator).unsqueeze(1)
            words = torch.where(open & (classes.of(proposed) == drawn), proposed, words)
        return words.squeeze(1)

    def regrouped(self, features: Features) -> Background:
        """b of a layer over other signatures, with the same weights; an expert stands beside it."""
        own = self.background.background if self.expert else self.background
        given = self.calibration, self.inverse_temperature
        is_a_sum = self.background_gate is None and given == (None, None)
        if is_a_sum or own.is_of_parts:
            return own.regrouped(features)
        return Regrouped(features, own, *given)

    def begin(self, words: Tensor, context: Tensor) -> Callable[[], Begun]:
        """What of the words (N) and classes does not depend on states, computed beside these.

        It is computed once, however often it is asked for: two runs over a window share it. A
        background that a GPU is waited for has nothing beside it.
        """
        check_words("words", words, len(self.signature))
        compute = Aside if self.background.is_static else partial
        masses = compute(self._masses, context)
        rows = compute(self._rows_and_biases, self._weights_and_biases())
        of_words = compute(self._masses_of, words.unsqueeze(1), context)
        return cache(lambda: Begun(*masses(), *rows(), *of_words()))

    def known(self, h: Tensor, context: Tensor, begun: Begun) -> dict[str, Classes | Tensor]:
        """What `loss` need not compute again, once there are states."""
        return {"classes": self.classes(h, context, begun), "log_mass": begun.of_words}

    def classes(self, h: Tensor, context: Tensor | None, begun: Begun | None = None) -> Classes:
        """The classes with their scores, in the precision of the weights whatever that of h."""
        begun = begun or self._begun(context)
        trusted = self._trusted(h, begun.prior, begun.evidence)
        # Scaled before they are many: the scores of all signatures are never read once more.
        logits = times_rows(self._scaled(h), begun.rows) + self._scaled(trusted + begun.bias)
        named = self.signature.new_empty(len(h), 0)
        classes = Classes(
            begun.log_mass, logits, self.signature, named, begun.rows, self.calibration
        )
        if not self.expert:
            return classes
        words, values = self.expert(context)
        check_words("the expert's words", words, len(self.signature), least=-1)
        evidence = h @ self.expert_weight.T * values
        log_mass = self.background.log_mass_of(words.clamp(min=0), context)
        return classes.naming(words, log_mass, evidence)

    def _begun(self, context: Tensor | None) -> Begun:
        return Begun(*self._masses(context), *self._rows_and_biases(self._weights_and_biases()))

    def _weights_and_biases(self) -> Tensor:
        """W and c side by side; rows begin where a GPU's fast kernels want it."""
        weight = self.whole_weight
        copies = ALIGNED - weight.shape[1] % ALIGNED
        return torch.cat([weight, self.bias.unsqueeze(1).expand(-1, copies)], dim=1)

    def _rows_and_biases(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Φ·W (S × H) and Φ·c (S) by one product; with it what calibration adds."""
        further = weights.shape[1] - self.width - 1
        rows, bias, _ = self.product(weights).split([self.width, 1, further], dim=1)
        bias = bias.squeeze(1)
        return rows, bias + self.calibration.bias() if self.calibration else bias

    def _scaled(self, scores: Tensor) -> Tensor:
        """Scores over the temperature."""
        return scores if self.inverse_temperature is None else scores * self.inverse_temperature

    def _masses(self, context: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """log B_s(K), and the score before the features speak, in the parts of `Begun`."""
        if self.background_gate is None:
            log_mass = self.background.class_mass(context)
            return log_mass, log_mass.to(self.bias.dtype), None
        prior, evidence = self.background.class_evidence(context)
        return prior + evidence, prior.to(self.bias.dtype), evidence.to(self.bias.dtype)

    def _draw(self, signatures: Tensor, context: Tensor | None, chance: Chance) -> Tensor:
        """A word of each signature (N), by its share there."""
        drawn = self.background.draw(signatures, context, chance)
        if self.calibration is None:
            return drawn
        lot = torch.rand(drawn.shape, device=drawn.device, generator=chance)
        by_context = lot < self.calibration.context_share
        return torch.where(by_context, drawn, self.calibration.prior.draw(signatures, None, chance))

    def _masses_of(self, words: Tensor, context: Tensor) -> tuple[Tensor]:
        return (self.background.log_mass_of(words, context),)

    def _trusted(self, h: Tensor, prior: Tensor, evidence: Tensor | None) -> Tensor:
        """log B_s(K) as far as it is trusted in each state."""
        if evidence is None:
            return prior
        return torch.addcmul(prior, self.background_gate(h).to(prior.dtype), evidence)

    def _blocks(
        self, classes: Classes, words: Tensor, context: Tensor | None
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Many words, a block at a time, and their log p in each context: both (N × BLOCK)."""
        for block in words.split(BLOCK):
            block = block.expand(len(classes.logits), -1)
            yield block, classes.log_prob(block, self.background.log_mass_of(block, context))


def _half_open(size: int) -> nn.Linear:
    """λ_t, one half in every state before it is trained."""
    background_gate = nn.Linear(size, 1)
    nn.init.zeros_(background_gate.weight)
    nn.init.constant_(background_gate.bias, 0.5)
    return background_gate


def log_linear_of(model: nn.Module) -> LogLinear:
    """The output of a model, if its score is a sum over features."""
    output = getattr(model, "output", model)
    if not isinstance(output, LogLinear):
        raise ValueError(
            f"expected a model with a log-linear output, which is a sum over features; "
            f"got {type(output).__name__}"
        )
    return output


def log_linear(given: Given) -> LogLinear:
    """A sum over the features of a word, with weights that the network chooses at every step."""
    expert, background = EXPERTS.make(given.expert, given.features), given.background
    if expert is not None:
        background = BesideExpert(given.features, background, expert)
    return LogLinear(
        given.features,
        background,
        given.size,
        expert=None if expert is None else background.named,
        weight=given.embedding.weight if given.embedding else None,
        background_gate=given.background_gate,
        temperature=given.temperature,
        calibration=given.calibration,
        labels=given.labels,
    )
