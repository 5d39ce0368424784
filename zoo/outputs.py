"""Class-based, SOUL tree, sampled softmax, NCE, sampled expectations of features."""

from collections.abc import Callable
from typing import Annotated, Literal, Unpack

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from accord.errors import AccordError
from accord.models.common.checks import check_words
from accord.models.common.registry import about
from accord.models.common.schema import Range
from accord.models.log_linear import (
    LogLinear,
    OutputContext,
    ScoredSignatures,
    SignatureTerms,
    log_share,
)
from accord.models.softmax import (
    SignatureOutput,
    Softmax,
    Tied,
    over_signatures,
    signature_mass,
    tied_weights,
)


class ClassBased(Softmax):
    """p(x | K) = p(c(x) | K) · p(x | c(x), K), a softmax over classes and one over each's words.

    A word costs its class's size and the number of classes, not the vocabulary. Each word is in
    the class that `classes` says (Goodman 2001); what they have in common is the caller's affair.
    With classes `above` these, p(c | K) is itself that of a class and of the class c in it: a tree
    of any depth, the structured output layer (SOUL) of Le et al. (2011).
    """

    of: Tensor  # the class of each word
    order: Tensor  # the words by class
    place: Tensor  # of each word in that order
    inside: Tensor  # of each word in its class

    def __init__(
        self,
        classes: np.ndarray,
        size: int,
        *above: np.ndarray,
        mass: np.ndarray | None = None,
        **tied: Unpack[Tied],
    ):
        super().__init__(len(classes), size, mass=mass, **tied)
        order = np.argsort(classes, kind="stable")
        sizes = np.bincount(classes)
        if not sizes.all():
            raise AccordError(f"classes: expected words in each; {int(np.argmin(sizes))} has none")
        self.sizes = sizes.tolist()
        place = np.argsort(order)  # among all words, by class
        inside = place - (np.cumsum(sizes) - sizes)[classes]
        for name, array in (
            ("of", classes),
            ("order", order),
            ("place", place),
            ("inside", inside),
        ):
            self.register_buffer(name, torch.from_numpy(array.astype(np.int64)), persistent=False)
        of_classes = None if mass is None else np.bincount(classes, mass)
        self.classes = (
            ClassBased(above[0], size, *above[1:], mass=of_classes)
            if above
            else Softmax(len(sizes), size, mass=of_classes)
        )

    def log_prob_of(self, h: Tensor, words: Tensor) -> Tensor:
        check_words("words", words, len(self.of))
        if words.dim() > 1:
            return torch.stack([self.log_prob_of(h, column) for column in words.T], dim=1)
        classes = self.of[words]
        inside = self._among_all if h.is_cuda else self._class_by_class
        return inside(h, words, classes) + self.classes.log_prob_of(h, classes)

    def _class_by_class(self, h: Tensor, words: Tensor, classes: Tensor) -> Tensor:
        """log p(x | c(x), K), each class's states with its own words: the fewest products."""
        by_class = classes.argsort()
        numbers = classes.bincount(minlength=len(self.sizes)).tolist()
        groups = zip(
            h[by_class].split(numbers),
            self.inside[words[by_class]].split(numbers),
            *self._by_class(),
            strict=True,
        )
        inside = [
            functional.cross_entropy(functional.linear(states, weight, bias), at, reduction="none")
            for states, at, weight, bias in groups
            if len(at)
        ]
        return -torch.cat([h.new_empty(0), *inside])[by_class.argsort()]

    def _among_all(self, h: Tensor, words: Tensor, classes: Tensor) -> Tensor:
        """The same from the scores of all words: for a GPU one large product is the quicker."""
        scores = self._scores(h).float()
        elsewhere = self.of.ne(classes.unsqueeze(1))
        own = scores.gather(1, words.unsqueeze(1)).squeeze(1)
        return own - scores.masked_fill(elsewhere, -torch.inf).logsumexp(dim=1)

    def log_prob(self, h: Tensor) -> Tensor:
        of_class = self.classes.log_prob(h).split(1, dim=1)
        groups = zip(of_class, *self._by_class(), strict=True)
        parts = [
            log_p + functional.linear(h, weight, bias).log_softmax(dim=1)
            for log_p, weight, bias in groups
        ]
        return torch.cat(parts, dim=1)[:, self.place]

    def _by_class(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """The vectors and the biases of the words of each class."""
        return (
            self._vectors()[self.order].split(self.sizes),
            self.bias[self.order].split(self.sizes),
        )


def classes(given: OutputContext) -> SignatureOutput:
    """First the class of a word (see encode.classes), then the word among those of its class."""
    layer = ClassBased(
        _classes(given), given.size, mass=signature_mass(given), **tied_weights(given)
    )
    return over_signatures(given, layer)


def tree(
    given: OutputContext,
    *,
    branches: Annotated[int, "of a node below the classes, at most"] = 16,
) -> SignatureOutput:
    """A tree of classes: that of a word (see encode.classes), smaller ones in it, then the word."""
    if branches < 2:
        raise AccordError(f"output: tree.branches: expected 2 or more, got {branches}")
    levels = nested(_classes(given), signature_mass(given), branches)
    layer = ClassBased(
        levels[0], given.size, *levels[1:], mass=signature_mass(given), **tied_weights(given)
    )
    return over_signatures(given, layer)


def nested(classes: np.ndarray, mass: np.ndarray, branches: int) -> list[np.ndarray]:
    """Classes of words, of these classes, and so on, inside those given, which come last.

    The words of a class, or its classes, are put together by falling mass, so many at a time, until
    no more than that are left.
    """
    levels = []
    while np.bincount(classes).max() > branches:
        order = np.lexsort((-mass, classes))
        rank = np.empty(len(classes), np.int64)  # in its class
        rank[order] = np.arange(len(classes)) - np.searchsorted(classes[order], classes[order])
        pairs = np.stack([classes, rank // branches], axis=1)
        above, inside = np.unique(pairs, axis=0, return_inverse=True)
        levels.append(inside.reshape(-1))
        classes, mass = above[:, 0], np.bincount(levels[-1], mass)
    return [*levels, classes]


def _classes(given: OutputContext) -> np.ndarray:
    """The class of each signature."""
    if given.classes is None:
        raise AccordError(f"output: {given.name} has no classes of words; expected encode.classes")
    return given.features.group_of_signatures("classes", given.classes)


class Sampled(Softmax):
    """The sampled softmax (Jean et al. 2015): the next word x̄ is to be found among k drawn from q.

        −log p(x̄) ≈ −log( r(x̄) / (r(x̄) + Σ_{y drawn} r(y)) ),    r(x) = exp s(x) / k·q(x)

    s being the softmax's scores and q in proportion to `mass`. Ma & Collins (2018) show that with
    enough text this comes to the softmax's own scores, whatever k.
    """

    noise: Tensor  # q of each word

    def __init__(self, mass: np.ndarray, size: int, *, samples: int = 1024, **tied: Unpack[Tied]):
        super().__init__(len(mass), size, mass=mass, **tied)
        noise = torch.from_numpy(np.asarray(mass / mass.sum(), np.float32))
        self.register_buffer("noise", noise, persistent=False)
        self.samples = samples

    def loss(self, h: Tensor, targets: Tensor) -> Tensor:
        if not self.training:
            return super().loss(h, targets)
        check_words("words", targets, len(self.bias))
        drawn = self.noise.multinomial(self.samples, replacement=True)
        vectors, offset = self._vectors(), self.bias - (self.samples * self.noise).log()
        of_target = (h * vectors[targets]).sum(dim=1) + offset[targets]
        of_drawn = functional.linear(h, vectors[drawn], offset[drawn])
        return self._contrast(of_target.float(), of_drawn.float()).mean()

    def _contrast(self, of_target: Tensor, of_drawn: Tensor) -> Tensor:
        """The loss of each target (N) by log r of it and of the words drawn (N × k)."""
        scores = torch.cat([of_target.unsqueeze(1), of_drawn], dim=1)
        return -scores.log_softmax(dim=1)[:, 0]


class NoiseContrastive(Sampled):
    """Noise-contrastive estimation (Gutmann & Hyvärinen 2010, Mnih & Teh 2012).

    Each of the next word and k words drawn from q is to be told for what it is, with exp s(x)
    taken for p(x):

        P(x is the next word) = exp s(x) / (exp s(x) + k·q(x)) = r(x) / (r(x) + 1)

    Scores start near to being normalised and stay so; where words are scored they are normalised
    all the same.
    """

    def _contrast(self, of_target: Tensor, of_drawn: Tensor) -> Tensor:
        return functional.softplus(-of_target) + functional.softplus(of_drawn).sum(dim=1)


def sampled(
    given: OutputContext,
    *,
    samples: Annotated[
        int, Range(ge=1), "words drawn at each step, for all of its words together"
    ] = 1024,
) -> SignatureOutput:
    """A softmax that compares the next word with a sample of words in training."""
    return _over(Sampled, given, samples)


def noise_contrastive(
    given: OutputContext,
    *,
    samples: Annotated[
        int, Range(ge=1), "words drawn at each step, for all of its words together"
    ] = 1024,
) -> SignatureOutput:
    """A softmax that learns in training to tell the next word from a sample of words."""
    return _over(NoiseContrastive, given, samples)


def _over(kind: type[Sampled], given: OutputContext, samples: int) -> SignatureOutput:
    return over_signatures(
        given, kind(signature_mass(given), given.size, samples=samples, **tied_weights(given))
    )


class SampledExpectations(LogLinear):
    """A log-linear layer whose gradient has a sampled expectation (Dymetman & Xiao 2016, §2.3):

        −∂ log p(x̄ | K) / ∂a_t = E_p[φ(K, x)] − φ(K, x̄) ≈ 1/k·Σ_{x drawn} w(x)·φ(K, x) − φ(K, x̄)

    `draw: model` draws signatures from p itself, and w = 1. Z is exact and the gradient unbiased;
    the backward pass costs k signatures instead of all. `draw: background` draws k signatures for
    all states of a step in proportion to their mass b_s before the context speaks, and
    w(x) ∝ p(x)/b_s sums to k over those drawn (Bengio & Senécal 2008). Z is sampled too, and the
    gradient has a bias that falls as 1/k. Only training samples: scores are exact either way.
    """

    is_static = False  # multinomial draws wait for the GPU
    noise: Tensor  # b_s of every signature, which sum to one
    samples: int
    from_model: bool

    def begin(self, words: Tensor, context: Tensor) -> Callable[[], SignatureTerms] | None:
        """In training nothing is computed beside the encoder, as not all signatures are scored."""
        return None if self.training else super().begin(words, context)

    def loss(
        self,
        h: Tensor,
        targets: Tensor,
        context: Tensor | None = None,
        scored: ScoredSignatures | None = None,
        log_mass: Tensor | None = None,
    ) -> Tensor:
        """Return the mean nats per target; in training its gradient is sampled."""
        if not self.training:
            return super().loss(h, targets, context, scored, log_mass)
        check_words("words", targets, len(self.signature))
        of_class, prior, _ = self.masses(context)
        rows, bias = self.rows(self._joined_weight())
        own = self.signature[targets].unsqueeze(1)
        observed = self._scores(h, own, prior, rows, bias)
        log_mass = self.background.log_mass_of(targets.unsqueeze(1), context)
        share = log_share(log_mass, of_class.expand(len(h), -1).gather(1, own)).to(h.dtype)
        of_drawn = self._from_model if self.from_model else self._from_background
        return (of_drawn(h, prior, rows, bias) - (observed + share).squeeze(1)).mean()

    def _from_model(self, h: Tensor, prior: Tensor, rows: Tensor, bias: Tensor) -> Tensor:
        """log Z, with the gradient of the mean score of signatures that are drawn from p: (N)."""
        with torch.no_grad():
            logits = torch.addmm(prior + bias, h, rows.T)
            log_z = logits.logsumexp(dim=1)
            drawn = self.drawn(logits.softmax(dim=1))
        mean = self._scores(h, drawn, prior, rows, bias).mean(dim=1)
        return log_z + mean - mean.detach()

    def _from_background(self, h: Tensor, prior: Tensor, rows: Tensor, bias: Tensor) -> Tensor:
        """log Z by importance sampling, log 1/k·Σ exp(s)/b_s over the signatures drawn: (N)."""
        drawn = self.drawn(self.noise.unsqueeze(0)).squeeze(0)
        log_q = (self.noise[drawn] * self.samples).log().to(h.dtype)
        of_drawn = prior.expand(len(h), -1)[:, drawn] + bias[drawn] - log_q
        return torch.addmm(of_drawn, h, rows[drawn].T).logsumexp(dim=1)

    def drawn(self, p: Tensor) -> Tensor:
        """So many signatures for each row of p: (N × k)."""
        return p.multinomial(self.samples, replacement=True)

    def _scores(
        self, h: Tensor, signatures: Tensor, prior: Tensor, rows: Tensor, bias: Tensor
    ) -> Tensor:
        """log B_s + a_t·φ_s of some signatures in each state: (N × k)."""
        log_mass = prior.expand(len(h), -1).gather(1, signatures)
        return log_mass + bias[signatures] + torch.einsum("nh,nkh->nk", h, rows[signatures])


@about(log_linear=True)
def sampled_expectations(
    given: OutputContext,
    *,
    samples: Annotated[
        int, Range(ge=1), "signatures drawn: for each word from the model, for all of a step from b"
    ] = 64,
    draw: Annotated[
        Literal["model", "background"],
        "model: unbiased, with an exact Z; background: Z is sampled too",
    ] = "model",
) -> SampledExpectations:
    """A log-linear output whose expected features are sampled in training."""
    layer = given.log_linear(SampledExpectations)
    layer.samples, layer.from_model = samples, draw == "model"
    mass = np.bincount(
        given.features.signature, given.background.word_masses(), given.features.signature_count
    )
    layer.register_buffer("noise", torch.from_numpy(mass / mass.sum()), persistent=False)
    return layer
