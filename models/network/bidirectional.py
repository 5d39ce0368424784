"""Models that read sentences from their last word to their first, and both directions together."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from accord.models.common.batching import Sentences

AT_ONCE = 512  # words whose distributions over the vocabulary are held at a time


class WordModel(Protocol):
    """A model that knows the probability of every word at every position."""

    def score_beside(self, sentences: Sentences, others: Sequence[int]) -> np.ndarray: ...

    def log_distributions(self, sentences: Sentences) -> Tensor | np.ndarray: ...

    def parameter_count(self) -> int: ...


class Backward:
    """p(x_t | x_{t+1} … x_n): a model that was trained on sentences backwards (train.text).

    It scores whole sentences, each word at its own position. What is at the position of the end is
    the probability that the sentence begins here. The product is a probability of the sentence, as
    that of a forward model is.
    """

    def __init__(self, model: WordModel):
        self.model = model

    def score(self, sentences: Sentences) -> np.ndarray:
        """log p of every word of every sentence in order, END included, in nats."""
        return self.score_beside(sentences, ())[:, 0]

    def score_beside(self, sentences: Sentences, others: Sequence[int]) -> np.ndarray:
        """log p of every word, in the first column, and of others at its position: (N × 1 + M)."""
        scored = self.model.score_beside(sentences.backwards(), others)
        return scored[sentences.backward_order()]

    def log_distributions(self, sentences: Sentences) -> Tensor:
        """log p of every word of the vocabulary at every position: (N × V)."""
        found = self.model.log_distributions(sentences.backwards())
        return torch.as_tensor(found)[torch.from_numpy(sentences.backward_order())]

    def parameter_count(self) -> int:
        return self.model.parameter_count()


def pseudo_log_likelihood(
    forward: WordModel, backward: Backward, sentences: Sentences, prior: np.ndarray
) -> np.ndarray:
    """log p(x_t | x_1 … x_{t−1}, x_{t+1} … x_n) of every word and end, in nats.

        p(x | left, right) = p_f(x | left) · p_b(x | right) / b(x) / Z

    This is Bayes' rule for contexts that are independent given the word. b is the prior share of
    every word (V); a word without mass is impossible. The product over a sentence is a
    pseudo-likelihood (Besag 1975), no probability of the sentence: each word is predicted from
    words that are predicted from it.
    """
    with np.errstate(divide="ignore"):
        log_b = torch.from_numpy(np.log(prior / prior.sum()))
    found = np.zeros(len(sentences.ids))
    for begin, stop in _parts(sentences.lengths):
        part = sentences.part(begin, stop)
        ids = torch.from_numpy(part.ids.astype(np.int64)).unsqueeze(1)
        both = -log_b.expand(len(ids), -1)
        for model in (forward, backward):
            both = both + torch.as_tensor(model.log_distributions(part)).double()
        both = both.masked_fill(torch.isneginf(log_b), -torch.inf)
        log_p = (both.gather(1, ids) - both.logsumexp(dim=1, keepdim=True)).squeeze(1)
        first = int(sentences.starts[begin])
        found[first : first + len(log_p)] = log_p.numpy()
    return found


def _parts(lengths: np.ndarray) -> list[tuple[int, int]]:
    """Sentences in groups of about AT_ONCE words: the first of each and the first after it."""
    group = (np.cumsum(lengths) - lengths) // AT_ONCE
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    return [*zip(starts.tolist(), [*starts[1:].tolist(), len(lengths)], strict=True)]
