"""Softmax, self-normalised and adaptive softmax over signatures; `output: background`."""

from typing import Annotated, Any, NoReturn

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from accord.errors import AccordError
from accord.models.background import Unigram
from accord.models.common.checks import check_words
from accord.models.common.schema import Range
from accord.models.encoder import FeatureProduct, tied_weight
from accord.models.log_linear import OutputContext, OutputLayer
from accord.models.phi import Features


class SignatureOutput(OutputLayer):
    """p(x | K) = p(s(x) | K) · b(x)/B_s(x), with p(s | K) from the layer within.

    A word that training lacks keeps its mass if its signature has others, as in the log-linear
    model: a softmax over words would learn that it does not occur.
    """

    signature: Tensor  # of every word (V)
    log_share: Tensor  # log b(x)/B_s of every word (V)

    def __init__(self, within: OutputLayer, features: Features, background: Unigram):
        super().__init__()
        self.within = within
        signature = torch.from_numpy(features.signature)
        self.register_buffer("signature", signature, persistent=False)
        self.register_buffer("log_share", background.log_share(), persistent=False)

    def loss(self, h: Tensor, targets: Tensor, context: Tensor | None = None) -> Tensor:
        check_words("words", targets, len(self.signature))
        return self.within.loss(h, self.signature[targets]) - self.log_share[targets].float().mean()

    def log_prob_of(self, h: Tensor, words: Tensor, context: Tensor | None = None) -> Tensor:
        check_words("words", words, len(self.signature))
        return self.within.log_prob_of(h, self.signature[words]) + self.log_share[words].float()

    def log_prob(self, h: Tensor, context: Tensor | None = None) -> Tensor:
        return self.within.log_prob(h)[:, self.signature] + self.log_share.float()


def tied_weights(output: OutputContext) -> dict[str, Any]:
    """Return the weights to share; none if the output has weights of its own."""
    if output.embedding is None:
        return {}
    return {"weight": output.embedding.weight, "product": output.embedding.product}


def unigram_of(output: OutputContext) -> Unigram:
    """Return the background; an error if it depends on the context."""
    if isinstance(output.background, Unigram):
        return output.background
    raise AccordError(
        f"output: {output.name} cannot use a background that depends on the context; "
        f"expected background.kind: unigram or uniform"
    )


def signature_mass(output: OutputContext) -> np.ndarray:
    """Return the mass of each signature."""
    return unigram_of(output).log_sums.exp().numpy()


def over_signatures(output: OutputContext, within: OutputLayer) -> SignatureOutput:
    """Turn a layer over signatures into one over words, which share by the background."""
    return SignatureOutput(within, output.features, unigram_of(output))


class Softmax(OutputLayer):
    """p(x | K) = exp(w_x·h + c_x) / Σ_y exp(w_y·h + c_y).

    With a `product`, `weight` has a vector per feature, and w_x is their sum over those of x. With
    `mass` scores start from its logarithm, hence normalised: a bias takes short steps, and would
    need epochs to get there.
    """

    def __init__(
        self,
        words: int,
        size: int,
        *,
        mass: np.ndarray | None = None,
        weight: nn.Parameter | None = None,
        product: FeatureProduct | None = None,
    ):
        super().__init__()
        self.weight = tied_weight(weight, product.feature_count if product else words, size)
        self.product = product
        self.bias = nn.Parameter(torch.zeros(words))
        if mass is not None:
            self.bias.data.copy_(torch.from_numpy(log_share(mass)))

    def log_prob_of(self, h: Tensor, words: Tensor, context: Tensor | None = None) -> Tensor:
        check_words("words", words, len(self.bias))
        if words.dim() > 1:
            return self.log_prob(h).gather(1, words)
        return -functional.cross_entropy(self._scores(h), words, reduction="none")

    def log_prob(self, h: Tensor, context: Tensor | None = None) -> Tensor:
        return self._scores(h).log_softmax(dim=1)

    def _scores(self, h: Tensor) -> Tensor:
        return functional.linear(h, self._vectors(), self.bias)

    def _vectors(self) -> Tensor:
        return self.product(self.weight) if self.product else self.weight


class SelfNormalised(Softmax):
    """A softmax whose log Z is pulled to 0 in training (Devlin et al. 2014).

        loss = −log p(x̄ | K) + penalty · (log Z)²

    Its scores are then log p up to log Z, which is small, and a word's score costs one product of
    vectors. Probabilities are normalised all the same.
    """

    def __init__(self, mass: np.ndarray, size: int, penalty: float, **tied: Any):
        super().__init__(len(mass), size, mass=mass, **tied)
        self.penalty = penalty

    def loss(self, h: Tensor, targets: Tensor, context: Tensor | None = None) -> Tensor:
        if not self.training:
            return super().loss(h, targets)
        check_words("words", targets, len(self.bias))
        scores = self._scores(h).float()
        log_z = scores.logsumexp(dim=1)
        log_p = scores.gather(1, targets.unsqueeze(1)).squeeze(1) - log_z
        return (self.penalty * log_z.square() - log_p).mean()

    def score_of(self, h: Tensor, words: Tensor) -> Tensor:
        """Return the score that replaces log p if Z is not computed: (N)."""
        return (h * self._vectors()[words]).sum(dim=1) + self.bias[words]


def log_share(mass: np.ndarray) -> np.ndarray:
    """Return log p in proportion to the mass; without mass, the smallest one replaces −∞."""
    mass = np.maximum(mass, mass[mass > 0].min())
    return np.log(mass / mass.sum())


def softmax(output: OutputContext) -> SignatureOutput:
    """One vector for each signature, and all of them compared at each step."""
    mass = signature_mass(output)
    layer = Softmax(len(mass), output.size, mass=mass, **tied_weights(output))
    return over_signatures(output, layer)


def self_normalised(
    output: OutputContext, *, penalty: Annotated[float, Range(ge=0), "on the square of log Z"] = 0.1
) -> SignatureOutput:
    """A softmax that is trained to have Z near 1; its probabilities are normalised."""
    mass = signature_mass(output)
    layer = SelfNormalised(mass, output.size, penalty, **tied_weights(output))
    return over_signatures(output, layer)


class Adaptive(OutputLayer):
    """`AdaptiveLogSoftmaxWithLoss` for words in any order; it expects falling frequency.

    `mass` is the frequency of each word; without it the ids fall in frequency. With it frequent
    words and the clusters start from its logarithm, as in a softmax.
    """

    rank: Tensor  # of each word by falling frequency

    def __init__(
        self,
        words: int,
        size: int,
        *,
        mass: np.ndarray | None = None,
        cutoffs: list[int] | None = None,
    ):
        super().__init__()
        by_rank = np.arange(words) if mass is None else np.argsort(-mass, kind="stable")
        self.register_buffer("rank", torch.from_numpy(np.argsort(by_rank)), persistent=False)
        cutoffs = cutoffs or default_cutoffs(words)
        self.inner = nn.AdaptiveLogSoftmaxWithLoss(size, words, cutoffs, head_bias=True)
        if mass is not None:
            first, *others = np.split(mass[by_rank], cutoffs)
            heads = log_share(np.concatenate([first, [cluster.sum() for cluster in others]]))
            self.inner.head.bias.data.copy_(torch.from_numpy(heads))

    def log_prob_of(self, h: Tensor, words: Tensor, context: Tensor | None = None) -> Tensor:
        check_words("words", words, len(self.rank))
        if words.dim() > 1:
            return torch.stack([self.log_prob_of(h, column) for column in words.T], dim=1)
        with torch.autocast(h.device.type, enabled=False):  # under it PyTorch's layer fails
            return self.inner(h.to(self.inner.head.weight.dtype), self.rank[words]).output

    def log_prob(self, h: Tensor, context: Tensor | None = None) -> Tensor:
        with torch.autocast(h.device.type, enabled=False):
            return self.inner.log_prob(h.to(self.inner.head.weight.dtype))[:, self.rank]


def default_cutoffs(words: int) -> list[int]:
    """Return the cutoffs of the authors for 10,000, 44,000 or 793,000 words, by the nearest."""
    if words > 200_000:
        return [4_000, 40_000, 200_000]
    return [cutoff for cutoff in (2_000, 10_000) if cutoff < words / 2] or [max(1, words // 2)]


def adaptive(output: OutputContext) -> SignatureOutput:
    """PyTorch's adaptive softmax: the rare words in clusters of smaller vectors."""
    mass = signature_mass(output)
    return over_signatures(output, Adaptive(len(mass), output.size, mass=mass))


def background(output: OutputContext) -> NoReturn:
    """The background b by itself, so that nothing is trained."""
    raise AccordError(
        "output: background is b by itself, without a network; a model of subwords, or one that "
        "is the background of another, has none to take its place"
    )
