"""b(K, x), the mass of words before the features speak: unigram, uniform, cross-fitted n-grams."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from accord.errors import AccordError
from accord.models.common.checks import expect
from accord.models.data import Sentences
from accord.models.gpu.kernels import rows_of
from accord.models.ngrams import (
    Backoff,
    History,
    Level,
    NGramTables,
    Table,
    Tables,
    check_text,
    checked_mass,
    count_after,
    interpolated_tables,
    kneser_ney_tables,
    last_words,
    log_sums,
)
from accord.models.phi import Features

# log B_s(K) as a sum: a term that counts in every state and, if asked for, the context's evidence.
ClassTerms = tuple[Tensor, Tensor | None]


class Background(nn.Module):
    """The interface of every background: four methods.

    `context` (N × n) is the result of `contexts` for the words before each word. A background that
    does not depend on it ignores it. Masses need not sum to one: the model normalises.
    """

    is_static = False  # whether a GPU computes its masses without waiting for itself, given `room`
    room: int | None = None  # for table entries that a batch adds up; None: as many as there are

    def __init__(self, features: Features):
        super().__init__()
        self.of_word, self.signature_count = features.signature, features.signature_count

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        """Return the context of every word of a text (N × n); by default n is 0."""
        return np.zeros((len(sentences.ids), 0), np.int64)

    def class_terms(self, context: Tensor | None = None, split: bool = False) -> ClassTerms:
        """Return log B_s = log Σ_{x∈s} b(K, x): (S), or (N × S) where it depends on the context.

        With `split`, return log B_s without the context, and the context's evidence
        log B_s(K)/B_s; 0 where there is no mass either way.
        """
        raise NotImplementedError

    def log_mass_of(self, words: Tensor | None, context: Tensor | None = None) -> Tensor:
        """Return log b(K, x) of words (N × M) in each context.

        Without words, return that of all words: (N × V), or (V) where no context changes it.
        """
        raise NotImplementedError

    def word_masses(self) -> np.ndarray:
        """Return b of every word before a context speaks: (V)."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """Return the number of probabilities that it lists: here one for each word."""
        return len(self.of_word)

    def check_features(self, features: Features) -> None:
        """Validate that the masses are those of the words and signatures of Φ."""
        sizes = features.vocabulary_size, features.signature_count
        counted = len(self.of_word), self.signature_count
        text = "{} words in {} signatures".format
        expect(
            "background", counted == sizes, f"one for {text(*sizes)}", f"one for {text(*counted)}"
        )


def required(context: Tensor | None) -> Tensor:
    """Return the contexts of a background that depends on them; an error if there are none."""
    if context is None:
        raise AccordError("context: expected those of the words, as b depends on them; got none")
    return context


def split_terms(log_mass: Tensor, prior: Tensor) -> ClassTerms:
    """Return the terms of log B_s(K) from it and from log B_s without the context."""
    return prior, (log_mass - prior).nan_to_num(nan=0.0)


class Unigram(Background):
    """b(x) = mass[x], whatever the context.

    The logarithms are kept in double precision: b(x)/B_s, the share of a word in its signature,
    is the difference of two of them.
    """

    is_static = True
    log_mass: Tensor  # log b of every word (V)
    log_sums: Tensor  # log B_s of every signature (S)

    def __init__(self, features: Features, mass: np.ndarray):
        super().__init__(features)
        self.mass = checked_mass(mass, features.vocabulary_size)
        log_class_mass = log_sums(self.mass, features.signature, features.signature_count)
        log_total = np.logaddexp.reduce(log_class_mass)
        with np.errstate(divide="ignore"):  # log 0 is −inf, as it should be
            log_mass = torch.from_numpy(np.log(self.mass) - log_total)
        self.register_buffer("log_mass", log_mass, persistent=False)
        sums = torch.from_numpy(log_class_mass - log_total)
        self.register_buffer("log_sums", sums, persistent=False)

    def class_terms(self, context: Tensor | None = None, split: bool = False) -> ClassTerms:
        return self.log_sums, torch.zeros_like(self.log_sums) if split else None

    def log_mass_of(self, words: Tensor | None, context: Tensor | None = None) -> Tensor:
        return self.log_mass if words is None else self.log_mass[words]

    def log_share(self) -> Tensor:
        """Return log b(x)/B_s of every word: −inf of one without mass, also where s has none."""
        of_signature = self.log_sums[torch.from_numpy(self.of_word).to(self.log_sums.device)]
        return (self.log_mass - of_signature).nan_to_num(nan=-torch.inf, neginf=-torch.inf)

    def word_masses(self) -> np.ndarray:
        return self.mass


class Uniform(Unigram):
    """b(x) = 1/V."""

    def __init__(self, features: Features):
        super().__init__(features, np.ones(features.vocabulary_size))


class NGrams(nn.Module, Backoff):
    """Tables for contexts of 0, 1, 2… words, in torch.

    The tables may hold several models. Each has its own root, a node of the empty context.
    """

    contexts_0: Tensor  # of the empty context
    p_0: Tensor

    def __init__(self, tables: Sequence[Table[np.ndarray]], words: int):
        super().__init__()
        self.words, self.order = words, len(tables)
        for number, table in enumerate(tables):
            for name, array in zip(Table._fields, table, strict=True):
                tensor = torch.from_numpy(np.ascontiguousarray(array))
                self.register_buffer(f"{name}_{number}", tensor, persistent=False)

    @property  # made of buffers, which move to a GPU
    def tables(self) -> list[Table[Tensor]]:
        """Return the tables by the length of their contexts."""
        return [
            Table(*(getattr(self, f"{name}_{number}") for name in Table._fields))
            for number in range(self.order)
        ]

    def numpy(self) -> NGramTables:
        """Return the same tables in numpy."""
        tables = [Table(*(tensor.cpu().numpy() for tensor in table)) for table in self.tables]
        return NGramTables(tables, self.words)

    def score(self, sentences: Sentences) -> np.ndarray:
        """Return log p of every word of every sentence in order, END included, in nats."""
        return self.numpy().score(sentences)

    def distributions(self, nodes: Sequence[Tensor], dtype: torch.dtype = torch.float32) -> Tensor:
        """Return p of every word after each context, given by its nodes: (N × V)."""
        tables = self.tables
        scales = self.scales(nodes)
        p = tables[0].p.view(-1, self.words).to(dtype)[nodes[0]]
        p *= scales[0].to(dtype).unsqueeze(1)
        for table, node, scale in zip(tables[1:], nodes[1:], scales[1:], strict=True):
            first = node * self.words  # the key of the context with word 0
            bounds = torch.searchsorted(table.keys, torch.stack([first, first + self.words]))
            # Row by row, as gathering all rows' entries at once takes twice the time.
            for row, (start, end) in enumerate(bounds.T.tolist()):
                listed = (table.p[start:end] * scale[row]).to(dtype)
                p[row].scatter_(0, table.keys[start:end] - first[row], listed)
        return p

    def scales(self, nodes: Sequence[Tensor]) -> list[Tensor]:
        """Return the factor of each table in each context: Π γ of the longer contexts."""
        scale = torch.ones_like(nodes[0], dtype=self.p_0.dtype)
        scales = [scale]
        for table, node in zip(self.tables[:0:-1], nodes[:0:-1], strict=True):
            scale = scale * torch.where(node >= 0, table.backoff[node], 1)
            scales.append(scale)
        return scales[::-1]

    def shorter_nodes(self, length: int, node: Tensor) -> list[Tensor]:
        """Return the nodes of all shorter suffixes of each context, from the empty one."""
        chain: list[Tensor] = []
        for table in self.tables[length:0:-1]:
            node = table.contexts[node] // self.words
            chain.insert(0, node)
        return chain


def stacked(models: Sequence[NGramTables]) -> NGrams:
    """Return several models in one set of tables; the root of each is its position."""
    words = models[0].words
    tables: Tables = []
    shorter: np.ndarray = np.zeros(len(models), np.int64)
    for same_length in zip(*(model.tables for model in models), strict=True):
        sizes = [len(table.contexts) for table in same_length]
        nodes: np.ndarray = np.cumsum(sizes) - sizes  # before those of each model
        shifted = [
            Table(t.contexts + parent * words, t.keys + node * words, t.p, t.backoff)
            for t, parent, node in zip(same_length, shorter, nodes, strict=True)
        ]
        tables.append(Table(*map(np.concatenate, zip(*shifted, strict=True))))
        shorter = nodes
    return NGrams(tables, words)


Smoothing = Callable[[Sequence[Level], np.ndarray], NGrams]


def interpolated(levels: Sequence[Level], weights: Callable, base: np.ndarray) -> NGrams:
    """Return the model p(w | h) = a(hw) + γ(h)·p(w | h′); `weights` returns a and γ of a level."""
    return NGrams(interpolated_tables(levels, weights, base), levels[0].words)


def kneser_ney(levels: Sequence[Level], base: np.ndarray) -> NGrams:
    """Estimate modified Kneser-Ney, interpolated (Chen & Goodman 1998), as KenLM does."""
    return NGrams(kneser_ney_tables(levels, base), levels[0].words)


Prior = Callable[[np.ndarray], np.ndarray]  # from the counts of words to their masses
ROUNDING = 1e-12  # rounding error of sums in double precision
FOLDS = 10  # parts of the training text, each read with the n-grams of all others


class NGramBackground(Background):
    """b(K, x) = p(x | h) of an n-gram model, h being the last words of K, or another history.

    The mass of a signature obeys the model's own recursion,

        B_s(h) = Σ_{x∈s} a(hx) + γ(h)·B_s(h′),    a(hx) = p(x | h) − γ(h)·p(x | h′),

    a(hx) being 0 where hx is not listed. The sums over listed x are made once, so a context costs
    the signatures and the few that were seen after its last words, never the vocabulary.

    In training, a text that the n-grams were counted on would find itself in them, and the network
    would learn to trust them blindly. Therefore `learn` cross-fits: it also counts the text without
    each of its FOLDS parts, and in training a sentence is read with the tables that lack its part.
    That is exact for every smoothing, discounts and all. Leaving out one occurrence at a time would
    not be: of a word that comes twice in a sentence, the other occurrence would remain.
    """

    is_static = True
    log_unigram: Tensor  # log B_s of the empty context, in the whole text and without each part
    # Σ_{x∈s} a(hx) of every context h that is not empty and every signature s seen after it:
    seen_nodes: Tensor  # number of nodes before those of each length, from 1
    seen_starts: Tensor  # of each node's entries, the nodes of all lengths in a row; and their end
    seen_signatures: Tensor
    seen_added: Tensor  # in double precision where some are negative, and B_s a difference

    def __init__(
        self,
        features: Features,
        ngrams: NGrams,
        history: History | None = None,
        masses: np.ndarray | None = None,
    ):
        """`masses` are those of words without context, by default the n-grams' own."""
        super().__init__(features)
        self.is_plain = history is None
        self.history = history or partial(last_words, reach=ngrams.order - 1)
        size = features.vocabulary_size
        expect("n-grams", ngrams.words == size, f"{size} words, as Φ has", ngrams.words)
        self.ngrams, self.masses = ngrams, masses
        self.folds = len(ngrams.contexts_0) - 1
        signature = torch.from_numpy(features.signature).to(ngrams.p_0.device)
        unigram = ngrams.p_0.new_zeros(self.folds + 1, features.signature_count)
        unigram.index_add_(1, signature, ngrams.p_0.view(self.folds + 1, -1))
        self._register_seen(ngrams, signature)
        log_unigram = unigram.log().to(self.seen_added.dtype)
        self.register_buffer("log_unigram", log_unigram, persistent=False)

    def _register_seen(self, ngrams: NGrams, signature: Tensor) -> None:
        """Sum a(hx) over the words of each signature that were seen after each context."""
        sizes, entries, signatures = [0], 0, self.signature_count
        starts, of_entry, added = [], [signature.new_empty(0)], [ngrams.p_0.new_empty(0)]
        for length, table in enumerate(ngrams.tables[1:], start=1):
            node, word = table.keys // ngrams.words, table.keys % ngrams.words
            below = ngrams.p(ngrams.shorter_nodes(length, node), word)
            more = table.p - table.backoff[node] * below
            pairs, pair = torch.unique(node * signatures + signature[word], return_inverse=True)
            added.append(more.new_zeros(len(pairs)).index_add_(0, pair, more))
            of_entry.append(pairs % signatures)
            first = torch.arange(len(table.contexts), device=pairs.device) * signatures
            starts.append(torch.searchsorted(pairs, first) + entries)
            sizes.append(sizes[-1] + len(first))
            entries += len(pairs)
        all_added = torch.cat(added)
        is_exact = bool((all_added > -ROUNDING).all())
        for name, tensor in {
            "nodes": signature.new_tensor(sizes[:-1]),
            "starts": torch.cat([*starts, signature.new_tensor([entries])]),
            "signatures": torch.cat(of_entry).int(),
            "added": all_added.float() if is_exact else all_added,
        }.items():
            self.register_buffer(f"seen_{name}", tensor, persistent=False)

    @classmethod
    def learn(
        cls,
        features: Features,
        texts: Sequence[Sentences],
        order: int,
        smoothing: Smoothing,
        prior: Prior,
        folds: int = FOLDS,
        history: History | None = None,
    ) -> "NGramBackground":
        """Learn from the texts of the network's training; without folds, only for scoring.

        Each text is divided by itself, so that the network may read one after the other. Words that
        the texts lack share the discounted mass in proportion to their prior mass. Every part has
        its own: a word that only the left-out part has is unseen. The tables without a part keep
        the contexts of this part alone, as no other sentence is read with them.
        """
        words = features.vocabulary_size
        columns = history or partial(last_words, reach=order - 1)
        models, masses = [], []
        for part, text in enumerate(lacking(texts, folds)):
            check_text(text, order, words)
            levels = count_after(text.ids, columns(text), words)
            counts = np.bincount(text.ids, minlength=words)
            masses.append(prior(counts))
            # The prior mass is that of words that do not occur, or of all if each occurs.
            unseen = np.where(counts == 0, masses[-1], 0)
            base = unseen if unseen.any() else masses[-1]
            model = smoothing(levels, base / base.sum()).numpy()
            if part:
                left_out = joined([text.chosen(text.parts(folds) == part) for text in texts])
                model = model.restricted(_rows(columns(left_out), len(left_out.ids), model.order))
            models.append(model)
        ngrams = stacked(models)
        del model, models  # their tables are copied
        return cls(features, ngrams, history, masses[0])

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        """Return the nodes of the last 0, 1, 2… words before each word, −1 where not listed.

        The first is the root: in training that of the tables which lack the word's own part.
        """
        rows = _rows(self.history(sentences), len(sentences.ids), self.ngrams.order)
        root = np.zeros(len(rows), np.int64)
        if training and self.folds:
            root = np.repeat(sentences.parts(self.folds), sentences.lengths)
        on_device = (torch.from_numpy(a).to(self.log_unigram.device) for a in (rows, root))
        return torch.stack(self.ngrams.nodes(*on_device), dim=1).cpu().numpy()

    def class_terms(self, context: Tensor | None = None, split: bool = False) -> ClassTerms:
        context = required(context)
        log_mass = self.log_unigram[context[:, 0]]
        log_scale, rows, places, added = self._seen_after(context)
        sums = torch.zeros_like(log_mass)
        sums.view(-1).index_add_(0, places, added)  # over all lengths; 0 where nothing was seen
        at_seen = sums.view(-1)[places]
        if not split:
            log_mass.add_(log_scale)
            flat = log_mass.view(-1)  # a position that comes twice is set to one value twice
            flat[places] = _log_sum(flat[places], at_seen)
            return log_mass.float(), None
        # The evidence differs from log γ only where a signature was seen: only there it is summed.
        backed_off = log_mass.view(-1)[places] + log_scale.view(-1)[rows]
        evidence = sums
        gain = _log_sum(backed_off, at_seen) - backed_off
        evidence.view(-1)[places] = gain.nan_to_num(nan=0.0)
        return log_mass.float(), evidence.add_(log_scale).float()

    def _seen_after(self, context: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return log γ of the unigrams (N × 1), and the mass that contexts add to signatures.

        The mass has an entry for each length: its row in the batch, its place among the N × S.
        """
        scales = torch.stack(self.ngrams.scales(context.unbind(1)), dim=1)
        longer = context[:, 1:]
        node = longer + self.seen_nodes
        start = self.seen_starts[node]
        end = torch.where(longer >= 0, self.seen_starts[node + 1], start)
        row, entry = rows_of(start.flatten(), end.flatten(), self.room)
        exact = self.seen_added.dtype
        added = self.seen_added[entry] * scales[:, 1:].flatten().to(exact)[row]
        if self.room is not None:
            added = added.masked_fill(entry < 0, 0)
        row = row // max(1, longer.shape[1])
        places = row * self.log_unigram.shape[1] + self.seen_signatures[entry]
        return scales[:, :1].log().to(exact), row, places, added

    def log_mass_of(self, words: Tensor | None, context: Tensor | None = None) -> Tensor:
        context = required(context)
        if words is None:
            return self.ngrams.distributions(context.unbind(1)).log()
        return self.ngrams.p(context.unsqueeze(2).unbind(1), words).log()

    def word_masses(self) -> np.ndarray:
        unigram = self.ngrams.p_0.view(self.folds + 1, -1)[0].cpu().numpy()
        return unigram if self.masses is None else self.masses

    @property
    def size(self) -> int:
        """Return the number of n-grams."""
        return sum(len(table.keys) for table in self.ngrams.tables)


def _log_sum(log_mass: Tensor, added: Tensor) -> Tensor:
    """Return log(B + a), where a may be nearly −B; never less than the rounding error of B."""
    mass = log_mass.exp()
    return torch.maximum(mass + added, torch.finfo(mass.dtype).eps * mass).log()


def _rows(columns: Iterable[np.ndarray], words: int, order: int) -> np.ndarray:
    """Return the history of every word, the last column being the last to be dropped."""
    rows = np.zeros((words, order - 1), np.int64)
    for back, column in enumerate(columns, start=1):
        rows[:, -back] = column
    return rows


def joined(texts: Sequence[Sentences]) -> Sentences:
    """Return several texts as one."""
    ids, lengths = (np.concatenate(parts) for parts in zip(*(t[:2] for t in texts), strict=True))
    return Sentences(ids, lengths)


def lacking(texts: Sequence[Sentences], folds: int) -> Iterator[Sentences]:
    """Yield the texts as one, then without each of their parts."""
    whole = joined(texts)
    fold = np.concatenate([text.parts(max(folds, 1)) for text in texts])
    yield whole
    yield from (whole.chosen(fold != part) for part in range(1, folds + 1))


class HistoryContext(NamedTuple):
    """The arguments of a history."""

    features: Features
    texts: Sequence[Sentences]
    order: int  # number of words, the predicted one included
    smoothing: Smoothing
    prior: Prior
    folds: int  # parts of the texts, each read in training with the n-grams of all others
    classes: np.ndarray | None = None  # the class of each word
    factors: Mapping[str, np.ndarray] | None = None  # numbers of each word, 0 being END's alone


def words(counted: HistoryContext) -> NGramBackground:
    """The last words."""
    return NGramBackground.learn(*counted[:6])
