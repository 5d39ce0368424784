"""n-gram models in torch: lookup in the tables of `accord.models.counts`."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from accord.models.counts import (
    Level,
    NGramTables,
    Table,
    interpolated_tables,
    kneser_ney_tables,
)
from accord.models.data import END, Sentences, preceding

WORDS_AT_ONCE = 1 << 20  # scored together


class NGrams(nn.Module):
    """Tables for contexts of 0, 1, 2… words.

    The tables may hold several models. Each has its own root, a node of the empty context.
    """

    # Of the table for the empty context, which every model has.
    contexts_0: Tensor
    p_0: Tensor

    def __init__(self, tables: Sequence[Table[np.ndarray]], words: int):
        super().__init__()
        self.words, self.order = words, len(tables)
        for number, table in enumerate(tables):
            for name, array in zip(Table._fields, table, strict=True):
                tensor = torch.from_numpy(np.ascontiguousarray(array))
                self.register_buffer(f"{name}_{number}", tensor, persistent=False)

    @property
    def tables(self) -> list[Table[Tensor]]:
        """The tables by the length of their contexts."""
        return [
            Table(*(getattr(self, f"{name}_{number}") for name in Table._fields))
            for number in range(self.order)
        ]

    def numpy(self) -> NGramTables:
        """The same tables as numpy reads them."""
        tables = [Table(*(each.cpu().numpy() for each in table)) for table in self.tables]
        return NGramTables(tables, self.words)

    def score(self, sentences: Sentences) -> np.ndarray:
        """log p of every word of every sentence in order, END included, in nats."""
        device = self.p_0.device
        context = torch.from_numpy(preceding(sentences, self.order - 1, END)).to(device)
        words = torch.from_numpy(sentences.ids.astype(np.int64)).to(device)
        parts = zip(words.split(WORDS_AT_ONCE), context.split(WORDS_AT_ONCE), strict=True)
        log_p = [self.p(self.nodes(part), word).log() for word, part in parts]
        return torch.cat(log_p).cpu().numpy()

    def distributions(self, nodes: Sequence[Tensor], dtype: torch.dtype = torch.float32) -> Tensor:
        """p of every word after each context, given by its nodes: (N × V)."""
        tables = self.tables
        scales = self.scales(nodes)
        p = tables[0].p.view(-1, self.words).to(dtype)[nodes[0]]
        p *= scales[0].to(dtype).unsqueeze(1)
        for table, node, scale in zip(tables[1:], nodes[1:], scales[1:], strict=True):
            first = node * self.words  # the key that the context has with word 0
            bounds = torch.searchsorted(table.keys, torch.stack([first, first + self.words]))
            # Row by row, as gathering all rows' entries at once takes twice the time.
            for row, (start, end) in enumerate(bounds.T.tolist()):
                listed = (table.p[start:end] * scale[row]).to(dtype)
                p[row].scatter_(0, table.keys[start:end] - first[row], listed)
        return p

    def nodes(self, context: Tensor, root: Tensor | None = None) -> list[Tensor]:
        """The node of each context's last 0, 1, 2… words, −1 where they are not listed.

        Negative numbers stand for no word. The sentence start ends a context: no listed context
        goes beyond it.
        """
        found = [context.new_zeros(len(context)) if root is None else root]
        for length, table in enumerate(self.tables[1:], start=1):
            oldest = context[:, -length] if length <= context.shape[1] else context.new_tensor(-1)
            found.append(_find(table.contexts, found[-1], oldest, self.words))
        return found

    def context_words(self) -> list[Tensor]:
        """The words of each node's context, the oldest first: for each length (nodes × length)."""
        found = [self.contexts_0.new_zeros(len(self.contexts_0), 0)]
        for table in self.tables[1:]:
            oldest = (table.contexts % self.words).unsqueeze(1)
            found.append(torch.cat([oldest, found[-1][table.contexts // self.words]], dim=1))
        return found

    def p(self, nodes: Sequence[Tensor], words: Tensor) -> Tensor:
        """p(w | h) of words, each with its context, which is given by the nodes of its suffixes.

        Nodes (N × 1) are those of all words of a row (N × M).
        """
        p = self.p_0[nodes[0] * self.words + words]
        for table, node in zip(self.tables[1:], nodes[1:], strict=False):
            at = _find(table.keys, node, words, self.words)
            backoff = torch.where(node >= 0, table.backoff[node], 1)
            p = torch.where(at >= 0, table.p[at], backoff * p)
        return p

    def scales(self, nodes: Sequence[Tensor]) -> list[Tensor]:
        """The factor of each table in each context: Π γ of the longer contexts."""
        scale = torch.ones_like(nodes[0], dtype=self.p_0.dtype)
        scales = [scale]
        for table, node in zip(self.tables[:0:-1], nodes[:0:-1], strict=True):
            scale = scale * torch.where(node >= 0, table.backoff[node], 1)
            scales.append(scale)
        return scales[::-1]


def stacked(models: Sequence[NGrams]) -> NGrams:
    """Several models in one set of tables; the root of each is its position."""
    words = models[0].words
    tables: list[Table[np.ndarray]] = []
    shorter: np.ndarray = np.zeros(len(models), np.int64)
    for same_length in zip(*(model.tables for model in models), strict=True):
        sizes = [len(table.contexts) for table in same_length]
        nodes: np.ndarray = np.cumsum(sizes) - sizes  # before those of each model
        contexts = _joined(same_length, "contexts", shorter * words)
        keys = _joined(same_length, "keys", nodes * words)
        p, backoff = (_joined(same_length, name, 0 * nodes) for name in ("p", "backoff"))
        tables.append(Table(contexts, keys, p, backoff))
        shorter = nodes
    return NGrams(tables, words)


def _joined(tables: Sequence[Table[Tensor]], name: str, shifts: np.ndarray) -> np.ndarray:
    arrays = (getattr(table, name).numpy() for table in tables)
    return np.concatenate([array + shift for array, shift in zip(arrays, shifts, strict=True)])


def shorter_nodes(ngrams: NGrams, length: int, node: Tensor) -> list[Tensor]:
    """The nodes of all shorter ends of each context, from the empty one."""
    chain: list[Tensor] = []
    for table in ngrams.tables[length:0:-1]:
        node = table.contexts[node] // ngrams.words
        chain.insert(0, node)
    return chain


def rows_of(starts: Tensor, ends: Tensor, room: int | None = None) -> tuple[Tensor, Tensor]:
    """The row of every position from its start up to its end, and the positions.

    With `room` the result has this length, so that a GPU need not be waited for; unused entries are
    −1.
    """
    sizes = ends - starts
    if room is not None:
        place, stops = torch.arange(room, device=sizes.device), sizes.cumsum(0)
        row = torch.searchsorted(stops, place, right=True).clamp(max=len(sizes) - 1)
        places = starts[row] + place - (stops - sizes)[row]
        return row, torch.where(place < stops[-1], places, -1)
    row = torch.repeat_interleave(sizes)
    shift = starts - (sizes.cumsum(0) - sizes)
    return row, torch.arange(len(row), device=row.device) + shift[row]


def _find(keys: Tensor, node: Tensor, word: Tensor, words: int) -> Tensor:
    """The position of each pair among sorted keys; −1 if it is missing or has a negative part."""
    wanted = node * words + word
    at = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
    return torch.where((keys[at] == wanted) & (node >= 0) & (word >= 0), at, -1)


Smoothing = Callable[[Sequence[Level], np.ndarray], NGrams]


def interpolated(levels: Sequence[Level], weights: Callable, base: np.ndarray) -> NGrams:
    """The model with p(w | h) = a(hw) + γ(h)·p(w | h′), level by level; weights give a and γ."""
    return NGrams(interpolated_tables(levels, weights, base), levels[0].words)


def kneser_ney(levels: Sequence[Level], base: np.ndarray) -> NGrams:
    """Modified Kneser-Ney, interpolated (Chen & Goodman 1998), as KenLM estimates it."""
    return NGrams(kneser_ney_tables(levels, base), levels[0].words)
