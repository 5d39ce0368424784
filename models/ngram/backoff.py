"""n-grams whose probabilities are given: what is left goes to shorter contexts."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from accord.models.ngram.counts import contexts_of, nodes_of, pack
from accord.models.ngram.model import NGrams, Table

LEAST = 1e-6  # what a context that lists not all words leaves to the others, at least


class Chosen(NamedTuple):
    """Some n-grams of one order."""

    ids: np.ndarray  # (N × order), those of a sentence's start beginning with END
    p: np.ndarray  # of the last word after the others


def backed_off(chosen: Sequence[Chosen], words: int) -> NGrams:
    """The model that has these probabilities, its γ such that every context sums to one.

        γ(h) = (1 − Σ_w p(w | h)) / (1 − Σ_w p(w | h′)),    w being those listed after h

    `chosen` has the n-grams of each order, all words being those of order 1. Where more is given
    than there is, by rounding, all of it is scaled down.
    """
    contexts = _contexts([each.ids for each in chosen], words)
    tables: list[Table] = []
    for length, (ids, p) in enumerate(chosen):
        node = nodes_of(ids[:, :-1], contexts, words)
        keys = pack(node, ids[:, -1], words)
        order = np.argsort(keys)
        ids, p, node = ids[order], p[order], node[order]
        count = len(contexts[length])
        listed = np.bincount(node, minlength=count)
        given = np.bincount(node, p, minlength=count)
        most = np.where(listed < words, 1 - LEAST, 1)
        scale = np.where((given > most) | (listed == words), most / np.maximum(given, LEAST), 1)
        p = p * scale[node]
        backoff = np.ones(count)
        if length:
            others = listed < words
            below = 1 - np.bincount(node, _below(tables, words, ids), minlength=count)
            backoff[others] = (1 - given * scale)[others] / below[others]
        tables.append(Table(contexts[length], keys[order], p, backoff))
    return NGrams(tables, words)


def _below(tables: Sequence[Table], words: int, ids: np.ndarray) -> np.ndarray:
    """p(w | h′) of n-grams by the tables of all lower orders."""
    model = NGrams(tables, words)
    nodes = model.nodes(torch.from_numpy(ids[:, 1:-1]))
    return model.p(nodes, torch.from_numpy(ids[:, -1])).numpy()


def _contexts(ids: Sequence[np.ndarray], words: int) -> list[np.ndarray]:
    """Those of all n-grams, and of the ends of these."""
    rows, longer = [], np.zeros((0, len(ids)), np.int64)
    for ngrams in ids[:0:-1]:
        longer = np.unique(np.concatenate([ngrams[:, :-1], longer[:, 1:]]), axis=0)
        rows.insert(0, longer)
    return contexts_of(rows, words)
