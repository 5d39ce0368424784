"""Any model as n-grams; backing off; pruning n-grams."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from accord.errors import AccordError
from accord.models.background import NGrams, rows_of
from accord.models.data import END, Sentences, preceding
from accord.models.ngrams import Level, Table, count, pack
from accord.zoo.arpa import contexts_of, nodes_of

LEAST = 1e-6  # the least mass that a context leaves to words that it does not list


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
    tables: list[Table[np.ndarray]] = []
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


def _below(tables: Sequence[Table[np.ndarray]], words: int, ids: np.ndarray) -> np.ndarray:
    """p(w | h′) of n-grams by the tables of all lower orders."""
    model = NGrams(tables, words)
    nodes = model.nodes(torch.from_numpy(ids[:, 1:-1]))
    return model.p(nodes, torch.from_numpy(ids[:, -1])).numpy()


def _contexts(ids: Sequence[np.ndarray], words: int) -> list[np.ndarray]:
    """Those of all n-grams, and of the ends of these."""
    rows: list[np.ndarray] = []
    longer = np.zeros((0, len(ids)), np.int64)
    for ngrams in ids[:0:-1]:
        longer = np.unique(np.concatenate([ngrams[:, :-1], longer[:, 1:]]), axis=0)
        rows.insert(0, longer)
    return contexts_of(rows, words)


class Asked(Protocol):
    """A model that is asked for its distributions: the words of a signature have fixed shares."""

    shares: "Shares"

    def distributions(self, sentences: Sentences) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Positions in the text, and log p of every signature before them, a few at a time."""


class Shares(Protocol):
    signature: np.ndarray  # of each word
    log_share: np.ndarray  # that each word has of its signature


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
    signature = torch.from_numpy(model.shares.signature)
    share = torch.from_numpy(np.exp(model.shares.log_share))
    of_signatures = torch.zeros(int(signature.max()) + 1, dtype=torch.float64)
    sums = [torch.zeros(len(level.keys), dtype=torch.float64) for level in levels]
    before = preceding(text, order - 1, END)
    for positions, log_p in model.distributions(text):
        p = torch.from_numpy(np.exp(log_p))
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


def pruned(model: NGrams, threshold: float) -> NGrams:
    """The model without the n-grams that matter less than that (Stolcke 1998).

    If hw goes, h gives w what γ′(h)·p(w | h′) is, and all that h does not list gets γ′/γ of what it
    had. An n-gram goes if this raises the perplexity by less than `threshold`, as a share of it:

        exp(D) − 1,   D = −p(h)·(p(w | h)·log(γ′(h)·p(w | h′)/p(w | h)) + p(others | h)·log(γ′/γ))

    What is part of a longer context that stays, stays.
    """
    if not 0 <= threshold < 1:
        raise AccordError(f"threshold: expected a share from 0 to under 1, got {threshold}")
    words_of = model.numpy().context_words()
    chosen: list[Chosen] = []
    needed = np.zeros((0, model.order), np.int64)  # the contexts of what stays, with their ends
    contexts = [table.contexts.numpy() for table in model.tables]
    for length in range(model.order - 1, -1, -1):
        table = model.tables[length]
        keys, p = table.keys.numpy(), table.p.numpy()
        node, word = np.divmod(keys, model.words)
        rows = np.concatenate([words_of[length][node], word[:, None]], axis=1)
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
    p, below = table.p, model.p(model.shorter_nodes(length, node), word)
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
    rows = torch.from_numpy(model.numpy().context_words()[length])
    p = model.p_0.new_ones(len(rows))
    for at in range(length):
        p = p * model.p(model.nodes(rows[:, :at]), rows[:, at])
    return p
