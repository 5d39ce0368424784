"""What the n-grams of every history are counted from."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from accord.models.background.ngram import Prior
from accord.models.common.batching import Sentences
from accord.models.features.phi import Features
from accord.models.ngram.smoothing.interpolated import Smoothing


class Given(NamedTuple):
    features: Features
    texts: Sequence[Sentences]
    order: int  # so many words, the predicted one included
    smoothing: Smoothing
    prior: Prior
    folds: int  # parts of the texts, each read in training with the n-grams of all others
    classes: np.ndarray | None = None  # the class of each word
    factors: Mapping[str, np.ndarray] | None = None  # numbers of each word, 0 being END's alone
