"""Any model as n-grams, with its own probabilities: what a recogniser can search with."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from accord.models.common.batching import END, Sentences, preceding
from accord.models.ngram.backoff import Chosen, backed_off
from accord.models.ngram.counts import Level, count
from accord.models.ngram.model import NGrams, rows_of


class Asked(Protocol):
    """A model that is asked for its distributions: the words of a signature have fixed shares."""

    shares: "Shares"

    def distributions(self, sentences: Sentences) -> Iterator[tuple[np.ndarray, Tensor]]:
        """Positions in the text, and log p of every signature before them, a few at a time."""


class Shares(Protocol):
    signature: Tensor  # of each word
    log_share: Tensor  # that each word has of its signature


@torch.no_grad()
def own_ngrams(
    model: Asked,
    text: Sentences,
    order: int,
    words: int,
    on_words: Callable[[int], None] = lambda words: None,
) -> NGrams:
    """The n-grams of a text with the model's probabilities (Arisoy et al. 2014).

    p(w | h) is the mean of what the model gives w wherever h stands in the text, all that is before
    h being known to it. What it gives to words that the text does not have after h goes to shorter
    contexts, and these share it.
    """
    levels = count(text, order, words)
    signature, share = model.shares.signature.cpu(), model.shares.log_share.exp().cpu()
    of_signatures = torch.zeros(int(signature.max()) + 1, dtype=torch.float64)
    sums = [torch.zeros(len(level.keys), dtype=torch.float64) for level in levels]
    before = preceding(text, order - 1, END)
    for positions, log_p in model.distributions(text):
        p = log_p.exp().cpu()
        of_signatures += p.sum(dim=0, dtype=torch.float64)
        for length, keys, nodes in _listed(levels, before[positions], words):
            row, entry = rows_of(*torch.searchsorted(keys, nodes))
            found = p[row, signature[keys[entry] % words]].double()
            sums[length].index_add_(0, entry, found)
        on_words(len(positions))
    sums[0] = of_signatures[signature]
    chosen, contexts = [], np.zeros((1, 0), np.int64)
    for length, level in enumerate(levels):
        if length:
            shorter, oldest = np.divmod(level.contexts, words)
            contexts = np.concatenate([oldest[:, None], contexts[shorter]], axis=1)
        times = np.bincount(level.nodes, level.counts)
        ids = np.concatenate([contexts[level.nodes], level.keys[:, None] % words], axis=1)
        of_words = sums[length] * share[ids[:, -1]]
        chosen.append(Chosen(ids, of_words.numpy() / times[level.nodes]))
    return backed_off(chosen, words)


def _listed(
    levels: Sequence[Level], before: np.ndarray, words: int
) -> Iterator[tuple[int, Tensor, Tensor]]:
    """For contexts of each length: its n-grams' keys, and those that each context begins with."""
    node = np.zeros(len(before), np.int64)
    is_inside = np.ones(len(before), bool)  # not beyond the sentence's start
    for length, level in enumerate(levels[1:], start=1):
        oldest = before[:, -length]
        at = np.searchsorted(level.contexts, node * words + oldest)
        node = np.where(is_inside, at, len(level.contexts))
        first = torch.from_numpy(node * words)
        yield length, torch.from_numpy(level.keys), torch.stack([first, first + words])
        is_inside &= oldest != END
