"""Log-linear combination of language models over one vocabulary: again a language model."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from models.batching import Sentences
from models.mixture import Model, stacked_distributions

WORDS_AT_ONCE = 256  # places whose distributions are held together
ENOUGH = 1e-4  # weights are tuned until none moves by more
ROUNDS = 20  # of Newton's method, at most


class LogLinearMixture:
    """p(x | K) = Π_i p_i(x | K)^{w_i} / Z(K), normalised over all words; any weights will do."""

    def __init__(self, parts: Sequence[Model], weights: np.ndarray):
        self.parts, self.weights = parts, weights

    def score(self, sentences: Sentences) -> np.ndarray:
        log_p = [
            self.log_distributions(chunk)[range(len(chunk.ids)), chunk.ids]
            for chunk in chunks(sentences)
        ]
        return torch.cat(log_p).double().numpy()

    def log_distributions(self, sentences: Sentences) -> Tensor:
        return _combined(stacked_distributions(self.parts, sentences), self.weights)


def _combined(log_p: Tensor, weights: np.ndarray) -> Tensor:
    weights = torch.from_numpy(weights).to(log_p.dtype)
    return torch.tensordot(weights, log_p, dims=1).log_softmax(dim=1)


def likeliest_exponents(parts: Sequence[Model], sentences: Sentences) -> np.ndarray:
    """The weights under which a text is likeliest, by Newton's method: the likelihood is concave.

    ∂ log p(x̄) / ∂w_i = log p_i(x̄) − E_p[log p_i],    −∂² log p(x̄) / ∂w_i∂w_j = Cov_p[i, j]
    """
    weights = np.full(len(parts), 1 / len(parts))
    for _ in range(ROUNDS):
        gradient, covariance = np.zeros(len(parts)), np.zeros((len(parts), len(parts)))
        for chunk in chunks(sentences):
            log_p = stacked_distributions(parts, chunk)
            p = _combined(log_p, weights).exp()
            mean = (p * log_p).sum(dim=2)
            gradient += (log_p[:, range(len(chunk.ids)), chunk.ids] - mean).sum(dim=1).numpy()
            centred = (log_p - mean.unsqueeze(2)).flatten(start_dim=1)
            covariance += ((centred * p.flatten()) @ centred.T).numpy()
        step = np.linalg.lstsq(covariance, gradient, rcond=None)[0]
        weights = weights + step
        if np.abs(step).max() < ENOUGH:
            break
    return weights


def chunks(sentences: Sentences) -> Iterator[Sentences]:
    """Whole sentences, about so many words at a time."""
    ends = np.cumsum(sentences.lengths)
    cuts = np.flatnonzero(np.diff(ends // WORDS_AT_ONCE, append=-1))
    for first, last in zip([0, *(cuts[:-1] + 1)], cuts, strict=True):
        words = slice(sentences.starts[first], ends[last])
        yield Sentences(np.array(sentences.ids[words]), sentences.lengths[first : last + 1])
