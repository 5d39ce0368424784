"""Entropy, rank and means by signatures are those of the enumerated vocabulary, word by word."""

import numpy as np
import pytest
import torch
from log_linear_cases import Bigram, random_features
from ngram_cases import WORDS, random_sentences, rising_prior

from accord.models.background import NGramBackground, Unigram
from accord.models.inference import next_word
from accord.models.inference.next_word import NextWord, WordValues
from accord.models.inference.torch_model import in_torch
from accord.models.model import LanguageModel
from accord.models.parts import SMOOTHINGS
from accord.models.recipe import Recipe

FEATURES = random_features(WORDS, width=3, real=False)
TEXT = random_sentences(seed=5, count=20, words=WORDS)
UNKNOWN = range(1, 3)
COLUMNS = 4


def mass(seed: int = 0) -> np.ndarray:
    """Some words have none, and some of a signature have as much as each other."""
    return np.random.default_rng(seed).integers(0, 4, WORDS) + (np.arange(WORDS) == 0)


def ngrams() -> NGramBackground:
    smoothing = SMOOTHINGS["kneser-ney"]
    return NGramBackground.learn(FEATURES, [random_sentences()], 3, smoothing, rising_prior, 0)


def made(kind: str):
    torch.manual_seed(3)
    recipe = {"embedding": 6, "hidden": 6, "layers": 1}
    if kind == "background only":
        return ngrams()
    if kind == "over n-grams":
        recipe |= {"output": {"kind": "log-linear", "background_gate": True}}
        return LanguageModel(Recipe(**recipe), FEATURES, ngrams()).eval()
    if kind == "over bigrams":
        table = np.random.default_rng(1).random((WORDS, WORDS))
        return LanguageModel(Recipe(**recipe), FEATURES, Bigram(FEATURES, table)).eval()
    background = Unigram(FEATURES, mass())
    return LanguageModel(Recipe(**recipe, output=kind), FEATURES, background).eval()


def table() -> tuple[np.ndarray, WordValues]:
    """Random numbers for every word, most of them none."""
    generator = np.random.default_rng(2)
    dense = generator.random((WORDS, COLUMNS)) * (generator.random((WORDS, COLUMNS)) < 0.4)
    word, column = np.nonzero(dense)
    return dense, WordValues(word, column, dense[word, column], WORDS, COLUMNS)


KINDS = ["log-linear", "softmax", "adaptive", "over n-grams", "over bigrams", "background only"]


@pytest.mark.parametrize("at_once", [1, 100, 1 << 23])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_asked_of_signatures_is_the_sum_over_all_words(kind, at_once, monkeypatch):
    monkeypatch.setattr(next_word, "AT_ONCE", at_once)
    model, (dense, values) = made(kind), table()
    spelled = np.random.default_rng(4).uniform(-5, 0, (len(TEXT.ids), len(UNKNOWN)))
    found = NextWord(in_torch(model), values, UNKNOWN).ask(TEXT, spelled)
    log_p = in_torch(model).log_distributions(TEXT)
    p = np.exp(log_p)
    np.testing.assert_allclose(found.means, p @ dense, atol=1e-6)
    np.testing.assert_allclose(found.entropy, -(p * np.where(p > 0, log_p, 0)).sum(1), atol=1e-5)
    own, is_unknown = log_p[np.arange(len(TEXT.ids)), TEXT.ids], np.isin(TEXT.ids, UNKNOWN)
    by_letters = (p[:, UNKNOWN] * np.exp(spelled)).sum(axis=1)
    expected = np.log(np.where(is_unknown, 0, np.exp(own)) + by_letters)
    np.testing.assert_allclose(found.log_p, expected, atol=1e-5)
    bound = np.where(is_unknown, expected, own)
    log_p[:, UNKNOWN] = -np.inf
    # Words within a rounding error of each other may be ranked either way.
    most = 1 + (log_p > bound[:, None] - 1e-5).sum(axis=1)
    least = 1 + (log_p > bound[:, None] + 1e-5).sum(axis=1)
    assert ((least <= found.rank) & (found.rank <= most)).all()


def test_words_as_likely_as_each_other_have_one_rank():
    features = random_features(WORDS, width=1, real=False)
    model = LanguageModel(
        Recipe(embedding=4, hidden=4, layers=1), features, Unigram(features, np.ones(WORDS))
    )
    rank = NextWord(in_torch(model.eval()), table()[1]).ask(TEXT).rank
    signatures = np.bincount(features.signature)
    assert set(rank) <= {1, *(1 + signatures)}
