"""Any model as n-grams, with its own probabilities: what a recogniser can search with."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from models.common.batching import END, Sentences, preceding
from models.common.protocol import Model
from models.ngram.backoff import Chosen, backed_off
from models.ngram.counts import Level, count
from models.ngram.model import NGrams, rows_of

AT_ONCE = 1 << 25  # probabilities held at a time


def own_ngrams(
    model: Model,
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
    sums = [torch.zeros(len(level.keys), dtype=torch.float64) for level in levels]
    for part in _parts(text, max(1, AT_ONCE // words)):
        p = model.log_distributions(part).exp().cpu()
        sums[0] += p.sum(dim=0, dtype=torch.float64)
        before = preceding(part, order - 1, END)
        for length, keys, nodes in _listed(levels, before, words):
            row, entry = rows_of(*torch.searchsorted(keys, nodes))
            sums[length].index_add_(0, entry, p[row, keys[entry] % words].double())
        on_words(len(part.ids))
    chosen, contexts = [], np.zeros((1, 0), np.int64)
    for length, level in enumerate(levels):
        if length:
            shorter, oldest = np.divmod(level.contexts, words)
            contexts = np.concatenate([oldest[:, None], contexts[shorter]], axis=1)
        times = np.bincount(level.nodes, level.counts)
        ids = np.concatenate([contexts[level.nodes], level.keys[:, None] % words], axis=1)
        chosen.append(Chosen(ids, sums[length].numpy() / times[level.nodes]))
    return backed_off(chosen, words)


def _listed(
    levels: Sequence[Level], before: np.ndarray, words: int
) -> Iterator[tuple[int, torch.Tensor, torch.Tensor]]:
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


def _parts(text: Sentences, most: int) -> Iterator[Sentences]:
    """The text by whole sentences, so many words at a time, or one sentence that has more."""
    ends = np.cumsum(text.lengths)
    start = first = 0
    while start < len(ends):
        end = max(start + 1, int(np.searchsorted(ends, first + most, side="right")))
        yield Sentences(text.ids[first : ends[end - 1]], text.lengths[start:end])
        start, first = end, int(ends[end - 1])
