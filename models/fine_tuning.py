"""Fine-tuning: Φ, b and weights of a model for the words and features of another text."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from accord.errors import AccordError
from accord.models.ngrams import discount
from accord.models.phi import Features

if TYPE_CHECKING:
    from torch import Tensor

# The parameters of a language model that have a row for each feature.
BY_FEATURE = {"embedding.weight", "output.weight", "output.bias", "output.label_weight"}


def of_words(features: Features, words: np.ndarray) -> Features:
    """Return Φ of some words, each of which may come more than once."""
    return replace(features, signature=features.signature[words]).split_by(np.zeros_like(words))


def with_own_features(features: Features, words: np.ndarray, first: int) -> Features:
    """Return Φ with a further sparse feature of value 1 for each of the words, from `first` on.

    `first` follows the sparse features; a Ψ may have the numbers of dense features as sparse ones
    that no word has, and these go up.
    """
    number = np.zeros(features.vocabulary_size, np.int64)
    number[words] = 1 + np.arange(len(words))
    split = features.split_by(number)
    number = split.group_of_signatures("own", number)
    ends = split.indptr[1:][number > 0]
    return replace(
        split,
        indptr=split.indptr + np.concatenate(([0], np.cumsum(number > 0))),
        indices=np.insert(split.indices, ends, first + number[number > 0] - 1),
        values=np.insert(split.values, ends, 1.0),
        feature_count=features.feature_count + len(words),
    )


def rows_by_name(
    tensors: "Mapping[str, Tensor]", names: Sequence[str], new_names: Sequence[str]
) -> "dict[str, Tensor]":
    """Return the weights for new features: each has the row of its name, or zeros."""
    row = {name: number for number, name in enumerate(names)}
    kept = np.array([place for place, name in enumerate(new_names) if name in row], dtype=np.int64)
    rows = np.array([row[name] for name in new_names if name in row], dtype=np.int64)
    grown = dict(tensors)
    for parameter in BY_FEATURE & tensors.keys():
        weight = tensors[parameter]
        if len(weight) != len(names):
            raise AccordError(
                f"{parameter}: expected {len(names):,} rows, one per feature; got {len(weight):,}"
            )
        grown[parameter] = weight.new_zeros(len(new_names), *weight.shape[1:])
        grown[parameter][kept] = weight[rows]
    return grown


ROUNDS = 50  # each halves the range of λ


def adapted(prior: np.ndarray, counts: np.ndarray, read_as: np.ndarray) -> np.ndarray:
    """Return b = λ·c/N + (1 − λ)·b₀ of the first words, which have the prior mass b₀.

    New words count for the unknown ones that they were read as, and then have their part of the
    mass of these: (c(x) − D)/C of it, C being the count of all that are read as the same. The
    unknown one keeps D for each, as by absolute discounting.
    """
    known = len(prior)
    new, of_new = counts[known:].astype(float), read_as[known:]
    as_read = counts[:known] + np.bincount(of_new, new, minlength=known)
    share = text_share(prior, as_read)
    mass = share * as_read / max(as_read.sum(), 1) + (1 - share) * prior
    kept = discount(new)
    per_count = mass / np.maximum(as_read, 1)
    lost = np.bincount(of_new, new - kept, minlength=known)
    return np.concatenate([mass - per_count * lost, per_count[of_new] * (new - kept)])


def text_share(prior: np.ndarray, counts: np.ndarray) -> float:
    """Return the λ that makes the text likeliest; a word is left out of the counts that score it.

    Σ c·log(λ·(c − 1)/(N − 1) + (1 − λ)·b₀) is concave: λ is where its slope is 0, or an end.
    """
    is_seen = counts > 0
    counts, prior = counts[is_seen], prior[is_seen]
    others = (counts - 1) / max(counts.sum() - 1, 1)

    def slope(share: float) -> float:
        mixed = share * others + (1 - share) * prior
        return float((counts * (others - prior) / np.maximum(mixed, 1e-300)).sum())

    low, high = 0.0, 1.0
    if slope(low) <= 0:
        return low
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return low
