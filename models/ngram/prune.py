"""Fewer n-grams for almost the same model: those go without which it says nearly the same."""

import numpy as np
import torch

from accord.models.ngram.backoff import Chosen, backed_off
from accord.models.ngram.counts import nodes_of, pack
from accord.models.ngram.model import NGrams, shorter_nodes


def pruned(model: NGrams, threshold: float) -> NGrams:
    """The model without the n-grams that matter less than that (Stolcke 1998).

    If hw goes, h gives w what γ′(h)·p(w | h′) is, and all that h does not list gets γ′/γ of what it
    had. An n-gram goes if this raises the perplexity by less than `threshold`, as a share of it:

        exp(D) − 1,   D = −p(h)·(p(w | h)·log(γ′(h)·p(w | h′)/p(w | h)) + p(others | h)·log(γ′/γ))

    What is part of a longer context that stays, stays.
    """
    if not 0 <= threshold < 1:
        raise ValueError(f"threshold: expected a share from 0 to under 1, got {threshold}")
    words_of, chosen = model.context_words(), []
    needed = np.zeros((0, model.order), np.int64)  # the contexts of what stays, with their ends
    contexts = [table.contexts.numpy() for table in model.tables]
    for length in range(model.order - 1, -1, -1):
        table = model.tables[length]
        keys, p = table.keys.numpy(), table.p.numpy()
        node, word = np.divmod(keys, model.words)
        rows = np.concatenate([words_of[length].numpy()[node], word[:, None]], axis=1)
        stays = np.ones(len(keys), bool)
        if length:
            stays = np.expm1(_lost(model, length)) >= threshold
            own = pack(nodes_of(needed[:, :-1], contexts, model.words), needed[:, -1], model.words)
            at = np.minimum(np.searchsorted(keys, own), len(keys) - 1)
            stays[at[keys[at] == own]] = True
        chosen.insert(0, Chosen(rows[stays], p[stays]))
        needed = np.unique(np.concatenate([rows[stays][:, :-1], needed[:, 1:]]), axis=0)
    while len(chosen) > 1 and not len(chosen[-1].ids):
        chosen.pop()
    return backed_off(chosen, model.words)


def _lost(model: NGrams, length: int) -> np.ndarray:
    """D of every n-gram with contexts of that length."""
    table = model.tables[length]
    node, word = table.keys // model.words, table.keys % model.words
    p, below = table.p, model.p(shorter_nodes(model, length, node), word)
    nodes = len(table.contexts)
    left, left_below = (
        1 - mass.new_zeros(nodes).index_add_(0, node, mass).clamp(max=1) for mass in (p, below)
    )
    gamma = table.backoff[node]
    without = (left[node] + p) / (left_below[node] + below)
    changed = p * (without * below / p).log() + left[node] * (without / gamma).log()
    return (-_p_of_contexts(model, length)[node] * changed).nan_to_num(nan=torch.inf).numpy()


def _p_of_contexts(model: NGrams, length: int) -> torch.Tensor:
    """p(h) of every context: a sentence starts as often as one ends."""
    rows = model.context_words()[length]
    p = model.p_0.new_ones(len(rows))
    for at in range(length):
        p = p * model.p(model.nodes(rows[:, :at]), rows[:, at])
    return p
