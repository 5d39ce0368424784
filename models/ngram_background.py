"""n-grams of the last words as background, cross-fitted."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from accord.errors import AccordError
from accord.models.background import Background, needed
from accord.models.counts import History, check, count_after, last_words
from accord.models.data import Sentences
from accord.models.ngrams import NGrams, Smoothing, rows_of, shorter_nodes, stacked
from accord.models.phi import Features

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
    each of its FOLDS parts, and a sentence in training asks the tables that lack its own part. That
    is exact for every smoothing, discounts and all; leaving out one occurrence at a time would not
    be, as a word that comes twice in a sentence would still find the other one.
    """

    is_static = True
    log_unigram: Tensor  # log B_s of the empty context, in the whole text and without each part
    # Those of `_SeenContexts`:
    seen_nodes: Tensor
    seen_starts: Tensor
    seen_signatures: Tensor
    seen_added: Tensor

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
        if ngrams.words != features.vocabulary_size:
            raise AccordError(
                f"n-grams: expected {features.vocabulary_size} words, as Φ has; got {ngrams.words}"
            )
        self.ngrams, self.masses = ngrams, masses
        self.folds = len(ngrams.contexts_0) - 1
        signature = torch.from_numpy(features.signature).to(ngrams.p_0.device)
        unigram = ngrams.p_0.new_zeros(self.folds + 1, features.signature_count)
        unigram.index_add_(1, signature, ngrams.p_0.view(self.folds + 1, -1))
        seen = _seen(ngrams, signature, features.signature_count)
        for name, tensor in seen._asdict().items():
            self.register_buffer(f"seen_{name}", tensor, persistent=False)
        log_unigram = unigram.log().to(seen.added.dtype)
        self.register_buffer("log_unigram", log_unigram, persistent=False)

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
        its own: a word that only the left-out part holds is unseen.
        """
        words = features.vocabulary_size
        looked_at = history or partial(last_words, reach=order - 1)
        models, masses = [], []
        for text in lacking(texts, folds):
            check(text, order, words)
            levels = count_after(text.ids, looked_at(text), words)
            counts = np.bincount(text.ids, minlength=words)
            masses.append(prior(counts))
            models.append(smoothing(levels, _base(counts, masses[-1])))
        return cls(features, stacked(models), history, masses[0])

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        """The nodes of the last 0, 1, 2… words before each word, −1 where they are not listed.

        The first is the root: in training that of the tables which lack the word's own part.
        """
        before = np.zeros((len(sentences.ids), self.ngrams.order - 1), np.int64)
        for back, column in enumerate(self.history(sentences), start=1):
            before[:, -back] = column
        root = torch.zeros(len(before), dtype=torch.long)
        if training and self.folds:
            fold = np.repeat(sentences.parts(self.folds), sentences.lengths)
            root = torch.from_numpy(fold)
        device = self.log_unigram.device
        nodes = self.ngrams.nodes(torch.from_numpy(before).to(device), root.to(device))
        return torch.stack(nodes, dim=1).cpu().numpy()

    def entries(self, contexts: np.ndarray) -> int:
        longer = contexts[..., 1:]
        before, sizes = self._sizes
        return int(sizes[(longer + before)[longer >= 0]].sum())

    def class_mass(self, context: Tensor | None = None) -> Tensor:
        context = needed(context)
        seen = self._seen_after(context)
        log_mass = self.log_unigram[context[:, 0]].add_(seen.log_scale)
        sums = seen.added_up(log_mass).view(-1)[seen.positions]
        flat = log_mass.view(-1)  # a place that comes twice is given the same both times
        flat[seen.positions] = _log_sum(flat[seen.positions], sums)
        return log_mass.float()

    @cached_property
    def _sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """How many nodes are before those of each length, and how many entries each node has."""
        return self.seen_nodes.cpu().numpy(), self.seen_starts.diff().cpu().numpy()

    def class_prior(self, context: Tensor | None = None) -> Tensor:
        return self.log_unigram[needed(context)[:, 0]].float()

    def class_evidence(self, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """It differs from log γ only where a signature was seen: only there it is computed."""
        context = needed(context)
        seen, prior = self._seen_after(context), self.log_unigram[context[:, 0]]
        evidence = seen.added_up(prior)
        flat, before = evidence.view(-1), prior.view(-1)[seen.positions]
        backed_off = before + seen.log_scale.view(-1)[seen.row]
        both = _log_sum(backed_off, flat[seen.positions])
        flat[seen.positions] = (both - backed_off).nan_to_num(nan=0.0)
        return prior.float(), evidence.add_(seen.log_scale).float()

    def _seen_after(self, context: Tensor) -> "_SeenAfter":
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
        positions = row * self.log_unigram.shape[1] + self.seen_signatures[entry]
        return _SeenAfter(scales[:, :1].log().to(exact), row, positions, added)

    def log_mass_of(self, words: Tensor, context: Tensor | None = None) -> Tensor:
        return self.ngrams.p(needed(context).unsqueeze(2).unbind(1), words).log()

    def log_masses(self, context: Tensor | None = None) -> Tensor:
        return self.ngrams.distributions(needed(context).unbind(1)).log()

    def regrouped(self, features: Features) -> "NGramBackground":
        history = None if self.is_plain else self.history
        return NGramBackground(features, self.ngrams, history, self.masses)

    def word_masses(self) -> np.ndarray:
        if self.masses is not None:
            return self.masses
        return self.ngrams.p_0.view(self.folds + 1, -1)[0].cpu().numpy()

    @property
    def size(self) -> int:
        """How many n-grams are listed."""
        return sum(len(table.keys) for table in self.ngrams.tables)


class _SeenAfter(NamedTuple):
    """The mass that the contexts of a batch add to signatures, one entry for each length."""

    log_scale: Tensor  # of the unigram in each context (N × 1)
    row: Tensor  # of each entry in the batch
    positions: Tensor  # of each entry among the N × S
    added: Tensor

    def added_up(self, like: Tensor) -> Tensor:
        """The sum over all lengths, 0 where nothing is added: (N × S)."""
        sums = torch.zeros_like(like)
        sums.view(-1).index_add_(0, self.positions, self.added)
        return sums


class _SeenContexts(NamedTuple):
    """Σ_{x∈s} a(hx) of every context h that is not empty and every signature s seen after it."""

    nodes: Tensor  # how many nodes are before those of each length, from 1
    starts: Tensor  # of each node's entries, the nodes of all lengths in a row; and their end
    signatures: Tensor
    added: Tensor  # in double precision where some are negative, and B_s a difference


def _seen(ngrams: NGrams, signature: Tensor, signatures: int) -> _SeenContexts:
    sizes, starts, of_entry, added, entries = [0], [], [], [], 0
    for length, table in enumerate(ngrams.tables[1:], start=1):
        node, word = table.keys // ngrams.words, table.keys % ngrams.words
        below = ngrams.p(shorter_nodes(ngrams, length, node), word)
        more = table.p - table.backoff[node] * below
        pairs, pair = torch.unique(node * signatures + signature[word], return_inverse=True)
        added.append(more.new_zeros(len(pairs)).index_add_(0, pair, more))
        of_entry.append((pairs % signatures).int())
        first = torch.arange(len(table.contexts), device=pairs.device) * signatures
        starts.append(torch.searchsorted(pairs, first) + entries)
        sizes.append(sizes[-1] + len(first))
        entries += len(pairs)
    end = signature.new_tensor([entries])
    more = torch.cat(added) if added else ngrams.p_0.new_empty(0)
    return _SeenContexts(
        signature.new_tensor(sizes[:-1]),
        torch.cat([*starts, end]),
        torch.cat(of_entry) if of_entry else signature.new_empty(0).int(),
        more.float() if bool((more > -ROUNDING).all()) else more,
    )


def _log_sum(log_mass: Tensor, added: Tensor) -> Tensor:
    """log(B + a), where a may be nearly −B; never less than the rounding error of B."""
    mass = log_mass.exp()
    return torch.maximum(mass + added, torch.finfo(mass.dtype).eps * mass).log()


def lacking(texts: Sequence[Sentences], folds: int) -> Iterator[Sentences]:
    """The texts as one, and without each of their parts."""
    ids, lengths = (np.concatenate(each) for each in zip(*(t[:2] for t in texts), strict=True))
    whole = Sentences(ids, lengths)
    fold = np.concatenate([text.parts(max(folds, 1)) for text in texts])
    yield whole
    yield from (whole.chosen(fold != part) for part in range(1, folds + 1))


def held_out(sentences: Sentences, folds: int) -> tuple[Sentences, Sentences]:
    """The sentences of all parts but the first, and those of the first."""
    is_first = sentences.parts(folds) == 1
    return sentences.chosen(~is_first), sentences.chosen(is_first)


def _base(counts: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """The prior mass divided among the words that do not occur, or among all if each occurs."""
    unseen = np.where(counts == 0, mass, 0)
    return unseen / unseen.sum() if unseen.any() else mass / mass.sum()


class HistoryContext(NamedTuple):
    features: Features
    texts: Sequence[Sentences]
    order: int  # so many words, the predicted one included
    smoothing: Smoothing
    prior: Prior
    folds: int  # parts of the texts, each read in training with the n-grams of all others
    classes: np.ndarray | None = None  # the class of each word
    factors: Mapping[str, np.ndarray] | None = None  # numbers of each word, 0 being END's alone


def words(given: HistoryContext) -> NGramBackground:
    """The last words."""
    return NGramBackground.learn(
        given.features, given.texts, given.order, given.smoothing, given.prior, given.folds
    )
