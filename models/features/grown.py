"""Φ of a finished model grown by words and features, and the weights that go with it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from accord.models.features.phi import Features

# The parameters of a language model that have a row for each feature.
BY_FEATURE = {"embedding.weight", "output.weight", "output.bias", "output.label_weight"}


def with_words(features: Features, read_as: np.ndarray) -> Features:
    """More words, each in the signature of a word that is there."""
    more = features.signature[read_as]
    return replace(features, signature=np.concatenate([features.signature, more]))


def with_own_features(features: Features, words: np.ndarray, first: int) -> Features:
    """A further sparse feature for each of these words, of value 1, numbered from `first` on.

    That is after the sparse features there are; a Ψ may have the numbers of dense ones as sparse
    ones that no word has, and these go up.
    """
    own = np.zeros(features.vocabulary_size, np.int64)
    own[words] = 1 + np.arange(len(words))
    split = features.split_by(own)
    own = split.group_of_signatures("own", own)
    ends = split.indptr[1:][own > 0]
    return replace(
        split,
        indptr=split.indptr + np.concatenate(([0], np.cumsum(own > 0))),
        indices=np.insert(split.indices, ends, first + own[own > 0] - 1),
        values=np.insert(split.values, ends, 1.0),
        feature_count=features.feature_count + len(words),
    )


def by_name(
    tensors: Mapping[str, Tensor], before: Sequence[str], after: Sequence[str]
) -> dict[str, Tensor]:
    """The weights for other features: each has the row of its name, and zeros if it is new."""
    row = {name: number for number, name in enumerate(before)}
    kept = torch.tensor([place for place, name in enumerate(after) if name in row])
    rows = torch.tensor([row[name] for name in after if name in row])
    grown = dict(tensors)
    for parameter in BY_FEATURE & tensors.keys():
        found = tensors[parameter]
        if len(found) != len(before):
            raise ValueError(
                f"{parameter}: expected {len(before):,} rows, one per feature; got {len(found):,}"
            )
        grown[parameter] = found.new_zeros(len(after), *found.shape[1:])
        grown[parameter][kept] = found[rows]
    return grown
