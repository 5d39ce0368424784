"""A background as a language model: a proper distribution, and the n-gram model it is made of."""

import numpy as np
import pytest
import torch
from log_linear_cases import random_features
from ngram_cases import WORDS, random_sentences, rising_prior

from accord.models.background import NGramBackground, Unigram
from accord.models.inference.torch_model import TorchBackground
from accord.models.parts import SMOOTHINGS

FEATURES = random_features(WORDS, width=3, real=False)
MASS = np.arange(1.0, WORDS + 1)
TEXT = random_sentences(seed=5, count=20, words=WORDS)


def made(kind: str) -> TorchBackground:
    if kind == "unigram":
        return TorchBackground(Unigram(FEATURES, MASS))
    return TorchBackground(
        NGramBackground.learn(
            FEATURES, [random_sentences()], 3, SMOOTHINGS[kind], rising_prior, folds=0
        )
    )


@pytest.mark.parametrize("kind", ["unigram", *SMOOTHINGS])
def test_it_sums_to_one_in_every_place_and_scores_from_that(kind):
    model = made(kind)
    log_p = torch.from_numpy(model.log_distributions(TEXT))
    assert torch.allclose(log_p.logsumexp(dim=1), torch.zeros(len(log_p)).double(), atol=1e-6)
    assert torch.isfinite(log_p).all(), "no word is impossible"
    of_text = log_p[torch.arange(len(log_p)), torch.from_numpy(TEXT.ids.astype(np.int64))]
    assert model.score(TEXT) == pytest.approx(of_text.numpy(), abs=1e-6)
