"""Several n-gram models interpolated into one background."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from accord.models.background.base import Background
from accord.models.background.ngram import FOLDS, NGramBackground, held_out
from accord.models.common.batching import Sentences
from accord.models.features.phi import Features

ROUNDS = 50  # of expectation and maximisation


class MixedBackground(Background):
    """b(K, x) = Σ_i λ_i(K)·p_i(x | K), the λ_i of each context summing to one.

    λ depends on how many of the last words the first part knows as a context, and on whether these
    begin the sentence.
    """

    def __init__(self, features: Features, parts: Sequence[NGramBackground], weights: np.ndarray):
        super().__init__(features)
        self.parts = nn.ModuleList(parts)
        self.register_buffer("log_weights", torch.from_numpy(np.log(weights)), persistent=False)

    def contexts(self, sentences: Sentences, training: bool = False) -> np.ndarray:
        found = [part.contexts(sentences, training) for part in self.parts]
        return np.concatenate([*found, kinds(found[0], sentences)[:, None]], axis=1)

    def class_mass(self, context: Tensor | None = None) -> Tensor:
        return self._mixed(context, lambda part, of_part: part.class_mass(of_part))

    def class_prior(self, context: Tensor | None = None) -> Tensor:
        return self._mixed(context, lambda part, of_part: part.class_prior(of_part))

    def log_mass_of(self, words: Tensor, context: Tensor | None = None) -> Tensor:
        return self._mixed(context, lambda part, of_part: part.log_mass_of(words, of_part))

    def log_masses(self, context: Tensor | None = None) -> Tensor:
        return self._mixed(context, lambda part, of_part: part.log_masses(of_part))

    def word_masses(self) -> np.ndarray:
        return self.parts[0].word_masses()

    def regrouped(self, features: Features) -> "MixedBackground":
        parts = [part.regrouped(features) for part in self.parts]
        return MixedBackground(features, parts, self.log_weights.exp().cpu().numpy())

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    def _mixed(self, context: Tensor, asked: Callable[[NGramBackground, Tensor], Tensor]) -> Tensor:
        weights = self.log_weights[context[:, -1]]
        contexts = context[:, :-1].split([part.ngrams.order for part in self.parts], dim=1)
        mixed: Tensor | None = None  # one after the other, as each may be as wide as all words
        for number, (part, of_part) in enumerate(zip(self.parts, contexts, strict=True)):
            masses = asked(part, of_part)
            masses = masses + weights[:, number : number + 1].to(masses.dtype)
            mixed = masses if mixed is None else torch.logaddexp(mixed, masses)
        return mixed


def kinds(nodes: np.ndarray, sentences: Sentences) -> np.ndarray:
    """Of each context, by its nodes: twice how many words it is of, one more at the start."""
    found = (nodes >= 0).sum(axis=1) - 1
    return 2 * found + (found > sentences.offsets)


def fitted_weights(
    learn: Callable[[list[Sentences], int], list[NGramBackground]],
    texts: Sequence[Sentences],
) -> np.ndarray:
    """λ of each kind and part under which a part of the texts is likeliest by the others' n-grams.

    Found by expectation and maximisation. One word is added that speaks for all parts alike, so
    that none has no weight: (kinds × parts).
    """
    rest, left = zip(*(held_out(text, FOLDS) for text in texts), strict=True)
    parts = learn([*rest], 0)
    kind, p = [], []
    for text in left:
        contexts = [part.contexts(text) for part in parts]
        kind.append(kinds(contexts[0], text))
        words = torch.from_numpy(text.ids.astype(np.int64)).unsqueeze(1)
        log_p = [
            part.log_mass_of(words, torch.from_numpy(context))
            for part, context in zip(parts, contexts, strict=True)
        ]
        p.append(torch.cat(log_p, dim=1).double().exp().numpy())
    return likeliest(np.concatenate(p), np.concatenate(kind), 2 * parts[0].ngrams.order)


def likeliest(p: np.ndarray, kind: np.ndarray, count: int) -> np.ndarray:
    """The weights of the parts in each kind of context under which words are likeliest, by EM."""
    is_possible = p.any(axis=1)  # to one part or other: no weights help a word that is not
    p, kind = p[is_possible], kind[is_possible]
    parts = p.shape[1]
    weights = np.full((count, parts), 1 / parts)
    for _ in range(ROUNDS):
        share = weights[kind] * p
        share /= share.sum(axis=1, keepdims=True)
        found = np.full((count, parts), 1 / parts)
        np.add.at(found, kind, share)
        weights = found / found.sum(axis=1, keepdims=True)
    return weights
