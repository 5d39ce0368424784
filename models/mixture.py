"""Mixtures of models, linear (the one EM) and log-linear (Newton).

p(x | K) = Σ_i w_i·p_i(x | K), the weights being positive and of sum one

p(x | K) = Π_i p_i(x | K)^{w_i} / Z(K), normalised over all words; any weights will do
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from accord.errors import AccordError
from accord.models.data import Model, Sentences

ENOUGH = 1e-8  # nats per word: weights are tuned until a round gains less
ROUNDS = 10_000  # of expectation and maximisation, at most


class Enumerable(Model, Protocol):
    """A model that lists p of all words."""

    def log_distributions(self, sentences: Sentences) -> np.ndarray:
        """Return log p of every word of the vocabulary at every position: (N × V)."""


def stacked_distributions(parts: Sequence[Enumerable], sentences: Sentences) -> Tensor:
    """Return log p of every word at every position by each part: (M × N × V)."""
    log_p = [torch.from_numpy(part.log_distributions(sentences)).float() for part in parts]
    widths = sorted({of_part.shape[1] for of_part in log_p})
    if len(widths) > 1:
        raise AccordError(f"expected models over one vocabulary, got some over {widths} words")
    return torch.stack(log_p)


def mixed(log_p: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return log Σ_i w_i·p_i from log p of each word by each part (M × N): (N)."""
    with np.errstate(divide="ignore"):  # a part may find a word impossible, or count for nothing
        return np.logaddexp.reduce(log_p + np.log(weights)[:, None], axis=0)


def likeliest_weights(
    log_p: np.ndarray,
    kind: np.ndarray | None = None,
    kinds: int = 1,
    times: np.ndarray | None = None,
    *,
    added: float = 0.0,
    rounds: int = ROUNDS,
    enough: float = ENOUGH,
) -> np.ndarray:
    """Return the weights that make a text likeliest, from log p of its words (M × N).

    By expectation and maximisation: w_i becomes the mean share that part i has in each word. The
    likelihood has one maximum, and rises in every round, until a round gains less than `enough`.

    Where words are of several kinds, numbered from 0 (N), each kind has weights of its own:
    (kinds × M). A word may count several `times`, and so many words as are `added` to each kind
    speak for all parts alike, so that none has no weight.
    """
    is_possible = np.isfinite(log_p).any(axis=0)
    possible = log_p[:, is_possible]
    p = np.exp(possible - possible.max(axis=0))
    counts = np.ones(p.shape[1]) if times is None else times[is_possible]
    of_kind = [slice(None)] if kind is None else [kind[is_possible] == k for k in range(kinds)]
    groups = [(p[:, chosen], counts[chosen]) for chosen in of_kind]
    weights = np.full((kinds, len(p)), 1 / len(p))
    previous = -np.inf
    for _ in range(rounds):
        log_p_of_text, updated = 0.0, weights.copy()
        for shares, (of_kind, count) in zip(updated, groups, strict=True):
            mixture = shares @ of_kind
            log_p_of_text += (count * np.log(mixture)).sum()
            if total := count.sum() + added:
                shares *= of_kind @ (count / mixture) / total
                shares += added / len(p) / total
        mean = log_p_of_text / max(counts.sum(), 1)
        if mean - previous < enough:
            break
        previous, weights = mean, updated
    return weights[0] if kind is None else weights


WORDS_AT_ONCE = 256  # positions whose distributions are held together
SMALL_STEP = 1e-4  # weights are tuned until none moves by more
NEWTON_STEPS = 20  # of Newton's method, at most


def score(
    parts: Sequence[Enumerable], weightings: Sequence[np.ndarray], texts: Iterable[Sentences]
) -> np.ndarray:
    """Return log p of every word of some short texts by each weighting of the parts: (W × N).

    The whole distributions of the parts are slow, so they are computed once for all weightings. A
    part of weight 0 is left out.
    """
    log_p_of_texts = []
    for text in texts:
        log_p = stacked_distributions(parts, text)
        combined = (_combined(log_p, weights) for weights in weightings)
        log_p_of_texts.append(
            [log_p_of_words[range(len(text.ids)), text.ids].numpy() for log_p_of_words in combined]
        )
    return np.concatenate(log_p_of_texts, axis=1).astype(np.float64)


def _combined(log_p: Tensor, weights: np.ndarray) -> Tensor:
    """Return the normalised combination; a word that a part finds impossible is so."""
    log_p, exponents = log_p[weights != 0], torch.from_numpy(weights[weights != 0]).to(log_p.dtype)
    is_possible = log_p.isfinite().all(dim=0)
    log_p = torch.tensordot(exponents, log_p.where(is_possible, 0), dims=1)
    return log_p.masked_fill(~is_possible, -torch.inf).log_softmax(dim=1)


def likeliest_exponents(log_p: Tensor, words: np.ndarray) -> np.ndarray:
    """Return the weights that make words likeliest, from the parts' log p (M × N × V).

    By Newton's method, the likelihood being concave:

        ∂ log p(x̄) / ∂w_i = log p_i(x̄) − E_p[log p_i],    −∂² log p(x̄) / ∂w_i∂w_j = Cov_p[i, j]
    """
    weights = np.full(len(log_p), 1 / len(log_p))
    for _ in range(NEWTON_STEPS):
        gradient, covariance = np.zeros(len(log_p)), np.zeros((len(log_p), len(log_p)))
        for start in range(0, len(words), WORDS_AT_ONCE):
            here = slice(start, start + WORDS_AT_ONCE)
            part, targets = log_p[:, here], words[here]
            p = _combined(part, weights).exp()
            part = part.where(part.isfinite(), 0)  # 0 times −inf would be no number
            mean = (p * part).sum(dim=2)
            gradient += (part[:, range(len(targets)), targets] - mean).sum(dim=1).numpy()
            centred = (part - mean.unsqueeze(2)).flatten(start_dim=1)
            covariance += ((centred * p.flatten()) @ centred.T).numpy()
        step = np.linalg.lstsq(covariance, gradient, rcond=None)[0]
        weights = weights + step
        if np.abs(step).max() < SMALL_STEP:
            break
    return weights


def chunks(sentences: Sentences) -> Iterator[Sentences]:
    """Yield whole sentences, in chunks of about WORDS_AT_ONCE words."""
    ends = np.cumsum(sentences.lengths)
    stops = (np.flatnonzero(np.diff(ends // WORDS_AT_ONCE, append=-1)) + 1).tolist()
    for first, stop in pairwise([0, *stops]):
        yield sentences.part(first, stop)
