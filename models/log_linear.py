"""The log-linear output layer of Dymetman & Xiao (2016): exact, and as cheap as its signatures."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from models.background import Background
from models.checks import check_words, tied_weight
from models.features import Features
from models.product import FeatureProduct

BLOCK = 1 << 14  # words scored at a time where all are asked for


class LogLinear(nn.Module):
    """p(x | K) = b(K, x) · exp(a_t·φ(x)) / Z(K), with the adaptor a_t = W·h_t + c.

    Words of one signature s share a_t·φ_s, so with B_s = Σ_{x∈s} b(K, x)

        log p(s | K) = log B_s + a_t·φ_s − log Z,    log Z = logsumexp_s(log B_s + a_t·φ_s)
        log p(x | K) = log p(s(x) | K) + log b(K, x)/B_s(x)

    The second term of the last line has no parameters, hence no gradient. A word without mass
    has the log-probability −inf, and a loss of +inf, never NaN.
    """

    def __init__(
        self,
        features: Features,
        background: Background,
        size: int,
        *,
        weight: nn.Parameter | None = None,
    ):
        super().__init__()
        self.background = background
        self.product = FeatureProduct(features)
        self.weight = tied_weight(weight, features.width, size)
        self.bias = nn.Parameter(torch.zeros(features.width))
        self.register_buffer("signature", torch.tensor(features.signature), persistent=False)

    def adaptor(self, h: Tensor) -> Tensor:
        """a_t = W·h_t + c, one weight per feature: (N × F)."""
        return nn.functional.linear(h, self.weight, self.bias)

    def loss(self, h: Tensor, targets: Tensor, context: Tensor | None = None) -> Tensor:
        """Nats per target. Its gradient on a_t is E_p[φ(x)] − φ(x̄)."""
        return -self.log_prob_of(h, targets, context).mean()

    def log_prob_of(self, h: Tensor, words: Tensor, context: Tensor | None = None) -> Tensor:
        """log p of one word for each state: (N)."""
        check_words("words", words, len(self.signature))
        class_mass = self.background.class_mass(context)
        log_p_signature = self._log_p_signature(h, class_mass)
        signature = self.signature[words].unsqueeze(1)
        log_mass = self.background.log_mass_of(words, context).unsqueeze(1)
        log_share = _log_share(log_mass, class_mass.expand(len(h), -1).gather(1, signature))
        return (log_p_signature.gather(1, signature) + log_share.to(h.dtype)).squeeze(1)

    def log_prob(self, h: Tensor, context: Tensor | None = None) -> Tensor:
        """log p of every word: (N × V)."""
        return torch.cat([block for _, block in self._blocks(h, context)], dim=1)

    def expected_features(self, h: Tensor, context: Tensor | None = None) -> Tensor:
        """E_p[φ(x)], what the model expects of the next word: (N × F)."""
        p_signature = self._log_p_signature(h, self.background.class_mass(context)).exp()
        return self.product.transposed(p_signature.T).T

    def top(self, h: Tensor, k: int, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The k likeliest words, the best first: their log p and their ids, each (N × k)."""
        best, words = h.new_empty(len(h), 0), self.signature.new_empty(len(h), 0)
        for start, block in self._blocks(h, context):
            ids = torch.arange(start, start + block.shape[1], device=h.device)
            best, words = torch.cat([best, block], 1), torch.cat([words, ids.expand_as(block)], 1)
            best, at = best.topk(min(k, best.shape[1]))
            words = words.gather(1, at)
        return best, words

    def _log_p_signature(self, h: Tensor, class_mass: Tensor) -> Tensor:
        """log p(s | K): (N × S), normalised in the precision of the weights, whatever h's is."""
        offset = class_mass.to(self.bias.dtype) + self.product(self.bias.unsqueeze(1)).squeeze(1)
        return (h @ self.product(self.weight).T + offset).log_softmax(dim=1)

    def _blocks(self, h: Tensor, context: Tensor | None) -> Iterator[tuple[int, Tensor]]:
        """log p of all words, a block of columns at a time, with the first word of each block."""
        class_mass = self.background.class_mass(context)
        log_p_signature = self._log_p_signature(h, class_mass)
        class_mass = class_mass.expand(len(h), -1)
        for start, signature in zip(
            range(0, len(self.signature), BLOCK), self.signature.split(BLOCK), strict=True
        ):
            words = torch.arange(start, start + len(signature), device=h.device)
            log_mass = _each_by_each(self.background, words, context, len(h))
            log_share = _log_share(log_mass, class_mass[:, signature])
            yield start, log_p_signature[:, signature] + log_share.to(h.dtype)


def _log_share(log_mass: Tensor, log_class_mass: Tensor) -> Tensor:
    """log b(x)/B_s, which is −inf for a word without mass, also where its class has none."""
    return (log_mass - log_class_mass).nan_to_num(nan=-torch.inf, neginf=-torch.inf)


def _each_by_each(background: Background, words: Tensor, context: Tensor | None, rows: int):
    """log b(K, x) for every context and each of some words: (N × C)."""
    if context is not None:
        context = context.repeat_interleave(len(words), dim=0)
    return background.log_mass_of(words.repeat(rows), context).view(rows, len(words))
