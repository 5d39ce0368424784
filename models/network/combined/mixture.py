"""Linear interpolation of language models, again a proper distribution:

p(x | K) = Σ_i w_i·p_i(x | K), the weights being positive and of sum one
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from accord.models.common.batching import Sentences
from accord.models.common.protocol import Model

ENOUGH = 1e-8  # nats per word: weights are tuned until a round gains less
ROUNDS = 10_000  # of expectation and maximisation, at most


def stacked_distributions(parts: Sequence[Model], sentences: Sentences) -> Tensor:
    """What each part says of every word in every place: (M × N × V)."""
    found = [part.log_distributions(sentences).float().cpu() for part in parts]
    widths = sorted({log_p.shape[1] for log_p in found})
    if len(widths) > 1:
        raise ValueError(f"expected models over one vocabulary, got some over {widths} words")
    return torch.stack(found)


def mixed(log_p: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """log Σ_i w_i·p_i of what each part gives each word (M × N): (N)."""
    with np.errstate(divide="ignore"):  # a part may find a word impossible, or count for nothing
        return np.logaddexp.reduce(log_p + np.log(weights)[:, None], axis=0)


def likeliest_weights(log_p: np.ndarray) -> np.ndarray:
    """The weights under which a text is likeliest, from what each part gives its words (M × N).

    By expectation and maximisation: w_i becomes the mean share that part i has in each word. The
    likelihood has one maximum, and rises in every round.
    """
    weights = np.full(len(log_p), 1 / len(log_p))
    possible = log_p[:, np.isfinite(log_p).any(axis=0)]
    p = np.exp(possible - possible.max(axis=0))
    before = -np.inf
    for _ in range(ROUNDS):
        together = weights @ p
        mean = np.log(together).mean()
        if mean - before < ENOUGH:
            break
        before = mean
        weights *= p @ (1 / together) / p.shape[1]
    return weights
