"""An n-gram model as background: the network then learns only what the n-gram model misses."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from models.background import Background
from models.batching import Sentences, preceding
from models.features import Features
from models.ngram import NGrams, rows_of, stacked
from models.ngram_counts import END, count
from models.ngram_smoothing import Smoothing, add_alpha

Prior = Callable[[np.ndarray], np.ndarray]  # from the counts of words to their masses
FOLDS = 10  # parts of the training text, each read with the n-grams of all others


class NGramBackground(Background):
    """b(K, x) = p(x | h) of an n-gram model, h being the last words of K.

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

    def __init__(self, features: Features, ngrams: NGrams):
        super().__init__(features)
        if ngrams.words != features.words:
            raise ValueError(
                f"n-grams: expected {features.words} words, as Φ has; got {ngrams.words}"
            )
        self.ngrams = ngrams
        self.folds = len(ngrams.contexts_0) - 1
        signature = torch.from_numpy(features.signature)
        unigram = ngrams.p_0.new_zeros(self.folds + 1, features.signatures)
        unigram.index_add_(1, signature, ngrams.p_0.view(self.folds + 1, -1))
        self.register_buffer("log_unigram", unigram.log().float(), persistent=False)
        for length in range(1, ngrams.order):
            for name, tensor in _seen(ngrams, length, signature, features.signatures).items():
                self.register_buffer(f"{name}_{length}", tensor, persistent=False)

    @classmethod
    def learn(
        cls,
        features: Features,
        sentences: Sentences,
        order: int,
        smoothing: Smoothing,
        prior: Prior,
        folds: int = FOLDS,
    ) -> "NGramBackground":
        """From the text that the network is to be trained on; without folds, only for scoring.

        Words that a text lacks share what discounting frees by the prior mass that its counts
        give them. Every part has its own: a word that only the left-out part holds is unseen.
        """
        fold = _fold_of(sentences, folds)
        texts = [sentences, *(_chosen(sentences, fold != part) for part in range(1, folds + 1))]
        models = [
            smoothing(
                count(text, order, features.words), _base(smoothing, prior, text, features.words)
            )
            for text in texts
        ]
        return cls(features, stacked(models))

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        """The words before each word; in training, before them the part of the text it is in."""
        words = preceding(sentences, self.ngrams.order - 1, END)
        if not (training and self.folds):
            return words
        fold = np.repeat(_fold_of(sentences, self.folds), sentences.lengths)
        return np.column_stack([fold, words])

    def class_mass(self, context: Tensor | None = None) -> Tensor:
        nodes = self._nodes(context)
        scales = self.ngrams.scales(nodes)
        log_mass = self.log_unigram[nodes[0]].add_(scales[0].log().float().unsqueeze(1))
        flat = log_mass.view(-1)
        for length in range(1, self.ngrams.order):
            starts, signatures, added = (
                getattr(self, f"{name}_{length}") for name in ("starts", "signatures", "added")
            )
            start, end = starts[nodes[length]], starts[nodes[length] + 1]
            row, entry = rows_of(start, torch.where(nodes[length] >= 0, end, start))
            place = row * log_mass.shape[1] + signatures[entry]
            more = added[entry] * scales[length].float()[row]
            flat[place] = (flat[place].exp() + more).log()  # no place comes twice
        return log_mass

    def class_prior(self, context: Tensor | None = None) -> Tensor:
        return self.log_unigram[self._nodes(context)[0]]

    def log_mass_of(self, words: Tensor, context: Tensor | None = None) -> Tensor:
        return self.ngrams.p(self._nodes(context), words).log()

    def log_masses(self, context: Tensor) -> Tensor:
        return self.ngrams.distributions(context).log()

    def regrouped(self, features: Features) -> "NGramBackground":
        return NGramBackground(features, self.ngrams)

    @property
    def size(self) -> int:
        """How many n-grams are listed."""
        return sum(len(table.keys) for table in self.ngrams.tables)

    def _nodes(self, context: Tensor) -> list[Tensor]:
        """The nodes of contexts of words, or of the part of the text and words."""
        if context.shape[1] < self.ngrams.order:
            return self.ngrams.nodes(context)
        return self.ngrams.nodes(context[:, 1:], context[:, 0])


def _seen(ngrams: NGrams, length: int, signature: Tensor, signatures: int) -> dict[str, Tensor]:
    """Σ_{x∈s} a(hx) of each context h of that length and each signature s seen after it, by h."""
    table = ngrams.tables[length]
    node, word = table.keys // ngrams.words, table.keys % ngrams.words
    below = ngrams.p(_shorter(ngrams, length, node), word)
    added = table.p - table.backoff[node] * below
    pairs, pair = torch.unique(node * signatures + signature[word], return_inverse=True)
    sums = torch.zeros(len(pairs), dtype=added.dtype).index_add_(0, pair, added)
    return {
        "starts": torch.searchsorted(pairs, torch.arange(len(table.contexts) + 1) * signatures),
        "signatures": (pairs % signatures).int(),
        "added": sums.float(),
    }


def _shorter(ngrams: NGrams, length: int, node: Tensor) -> list[Tensor]:
    """The nodes of all shorter ends of each context, from the empty one."""
    chain: list[Tensor] = []
    for table in ngrams.tables[length:0:-1]:
        node = table.contexts[node] // ngrams.words
        chain.insert(0, node)
    return chain


def _fold_of(sentences: Sentences, folds: int) -> np.ndarray:
    """The part that each sentence is in, from 1."""
    return np.arange(len(sentences.lengths)) % max(folds, 1) + 1


def _chosen(sentences: Sentences, chosen: np.ndarray) -> Sentences:
    return Sentences(sentences.ids[np.repeat(chosen, sentences.lengths)], sentences.lengths[chosen])


def _base(smoothing: Smoothing, prior: Prior, text: Sentences, words: int) -> np.ndarray:
    """The prior mass divided among the words that do not occur; among all where each does.

    Add-α has no shorter contexts in which words that occur have their share: all are alike to it.
    """
    if smoothing is add_alpha:
        return np.full(words, 1 / words)
    counts = np.bincount(text.ids, minlength=words)
    mass = prior(counts)
    unseen = np.where(counts == 0, mass, 0)
    return unseen / unseen.sum() if unseen.any() else mass / mass.sum()
