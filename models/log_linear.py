"""The log-linear output layer of Dymetman & Xiao (2016): exact, and as cheap as its signatures."""

from collections.abc import Callable
from functools import cache, partial

import torch
from torch import Tensor, nn

from accord.errors import AccordError
from accord.models.background import Background
from accord.models.common.checks import check_words
from accord.models.embedding import FeatureProduct, tied_weight
from accord.models.gpu.kernels import Concurrent, join_bias, split_bias, times_rows
from accord.models.phi import Features
from accord.models.signatures import Adjustable, BeforeState, ScoredSignatures
from accord.models.softmax import OutputContext

BLOCK = 1 << 14  # words scored at a time where all are asked for


class LogLinear(Adjustable):
    """p(x | K) = b(K, x) · exp(a_t·φ(K, x)) / Z(K), with the adaptor a_t = W·h_t + c.

    Words of one signature s share a_t·φ_s, so with B_s = Σ_{x∈s} b(K, x)

        log p(s | K) = log B_s + a_t·φ_s − log Z,    log Z = logsumexp_s(log B_s + a_t·φ_s)
        log p(x | K) = log p(s(x) | K) + log b(K, x)/B_s(x)

    The last term has no parameters, hence no gradient: training costs what a softmax over the
    signatures costs. A word without mass has the log-probability −inf and the loss +inf.

    `weight`, where given, is W shared with the input embedding. So many numbers as `beside` says
    stand behind those of h_t and have weights of their own: W is then whole with these.
    """

    def __init__(
        self,
        features: Features,
        background: Background,
        size: int,
        *,
        weight: nn.Parameter | None = None,
        beside: int = 0,
    ):
        super().__init__()
        background.check_made_for(features)
        self.background, self.width = background, size + beside
        self.product = FeatureProduct(features)
        self.weight = tied_weight(weight, features.feature_count, size)
        self.bias = nn.Parameter(torch.zeros(features.feature_count))
        further = nn.Parameter(torch.zeros(features.feature_count, beside))
        self.label_weight = further if beside else None
        self.register_buffer("signature", torch.from_numpy(features.signature), persistent=False)

    @property
    def is_static(self) -> bool:
        """Whether a step of training is computed without waiting for a GPU."""
        return self.background.is_static

    @property
    def whole_weight(self) -> Tensor:
        """W, and behind it the weights of what stands beside h_t: (F × H)."""
        if self.label_weight is None:
            return self.weight
        return torch.cat([self.weight, self.label_weight], dim=1)

    def adaptor(self, h: Tensor) -> Tensor:
        """a_t = W·h_t + c, one weight per feature: (N × F)."""
        return self.scaled(nn.functional.linear(h, self.whole_weight, self.bias))

    def classes(
        self, h: Tensor, context: Tensor | None, before: BeforeState | None = None
    ) -> ScoredSignatures:
        """The signatures with their scores, in the precision of the weights whatever that of h."""
        before = before or BeforeState(*self.masses(context), *self._rows(self._weights()))
        trusted = self.trusted(h, before.prior, before.evidence)
        # Scaled before they are many: the scores of all signatures are never read once more.
        logits = times_rows(self.scaled(h), before.rows) + self.scaled(trusted + before.bias)
        named = self.signature.new_empty(len(h), 0)
        return ScoredSignatures(
            before.log_mass, logits, self.signature, named, before.rows, self.calibration
        )

    def context_terms(self, h: Tensor, context: Tensor | None) -> tuple[Tensor, Tensor]:
        """Words with a term of their own in a context (−1 fills up), and these terms in nats."""
        return self.signature.new_empty(len(h), 0), h.new_empty(len(h), 0)

    def loss(
        self,
        h: Tensor,
        targets: Tensor,
        context: Tensor | None = None,
        classes: ScoredSignatures | None = None,
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
        classes: ScoredSignatures | None = None,
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
        """log p of every signature, and of words that the context names: (N × C)."""
        return self.classes(h, context).log_p

    def log_normaliser(self, h: Tensor, context: Tensor | None = None) -> Tensor:
        """log Z(K) in each state: (N)."""
        return self.classes(h, context).logits.logsumexp(dim=1)

    def top(self, h: Tensor, k: int, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The k likeliest words, the best first: their log p and their ids, each (N × k)."""
        classes = self.classes(h, context)
        named = classes.named[classes.named >= 0]
        contenders = self.background.contenders(k + classes.named.shape[1])
        best, words = h.new_empty(len(h), 0), self.signature.new_empty(len(h), 0)
        for block in torch.cat([contenders, named]).unique().split(BLOCK):
            block = block.expand(len(h), -1)
            log_p = classes.log_prob(block, self.background.log_mass_of(block, context))
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
            proposed = self.draw(signature, context, generator).unsqueeze(1)
            words = torch.where(open & (classes.of(proposed) == drawn), proposed, words)
        return words.squeeze(1)

    def begin(self, words: Tensor, context: Tensor) -> Callable[[], BeforeState] | None:
        """The terms of words (N) and signatures that need no state, computed beside the encoder.

        They are computed once: two forward passes over a window share them.
        """
        check_words("words", words, len(self.signature))
        compute = Concurrent if self.background.is_static else partial
        masses = compute(self.masses, context)
        rows = compute(self._rows, self._weights())
        of_words = compute(self._masses_of, words.unsqueeze(1), context)
        return cache(lambda: BeforeState(*masses(), *rows(), *of_words()))

    def _weights(self) -> Tensor:
        return join_bias(self.whole_weight, self.bias)

    def _rows(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Φ·W (S × H) and Φ·c (S) by one product, calibration included."""
        rows, bias = split_bias(self.product(weights), self.width)
        return rows, self.with_calibration(bias)

    def _masses_of(self, words: Tensor, context: Tensor) -> tuple[Tensor]:
        return (self.background.log_mass_of(words, context),)


def log_linear_of(model: nn.Module) -> LogLinear:
    """The output of a model, if its score is a sum over features."""
    output = getattr(model, "output", model)
    if not isinstance(output, LogLinear):
        raise AccordError(
            f"expected a model with a log-linear output, which is a sum over features; "
            f"got {type(output).__name__}"
        )
    return output


def log_linear(
    given: OutputContext,
    *,
    background_gate: bool = False,
    temperature: bool = False,
    calibration: bool = False,
) -> LogLinear:
    """A sum over the features of a word, with weights that the network chooses at every step."""
    weight = given.embedding.weight if given.embedding else None
    layer = LogLinear(
        given.features, given.background, given.size, weight=weight, beside=given.beside
    )
    return layer.adjust(
        given.features,
        layer.width,
        background_gate=background_gate,
        temperature=temperature,
        calibration=calibration,
    )
