"""A small text and network for tests of training."""

from dataclasses import replace

import numpy as np
import torch

from accord.models.background import Unigram
from accord.models.data import Sentences
from accord.models.model import LanguageModel
from accord.models.phi import Features
from accord.models.recipe import Recipe

END, WORDS = 0, 12
RECIPE = Recipe(
    embedding=8,
    hidden=8,
    layers=1,
    batch=4,
    bptt=7,
    epochs=4,
    ema=0.9,
    weight_dropout=0.2,
    feature_dropout=0.1,
    device="cpu",
)


def sentences(count: int = 60) -> Sentences:
    generator = np.random.default_rng(3)
    lengths = generator.integers(2, 9, size=count)
    ids = generator.integers(1, WORDS, size=lengths.sum())
    ids[np.cumsum(lengths) - 1] = END
    return Sentences(ids.astype(np.int32), lengths)


def features() -> Features:
    """Each word has one of its own, and one of three that it shares."""
    indptr = np.arange(0, 2 * WORDS + 1, 2)
    indices = np.stack([np.arange(WORDS), WORDS + np.arange(WORDS) % 3], axis=1).ravel()
    return Features.from_rows(indptr, indices, np.ones(len(indices)), WORDS + 3)


def log_linear(**settings) -> dict:
    """The output with some settings."""
    return {"kind": "log-linear", **settings}


def model(**changes) -> LanguageModel:
    torch.manual_seed(5)
    phi = features()
    return LanguageModel(replace(RECIPE, **changes), phi, Unigram(phi, np.arange(1, WORDS + 1)))
