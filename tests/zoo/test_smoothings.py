"""Smoothings are what their definitions say."""

import numpy as np
import pytest
import torch
from ngram_cases import WORDS, as_lists, random_sentences

from accord.models.data import END
from accord.models.ngrams import count
from accord.zoo.ngrams import _likeliest, add_alpha

UNIFORM = np.full(WORDS, 1 / WORDS)


def test_add_alpha_is_counts_plus_alpha():
    text, alpha = random_sentences(), 0.3
    model = add_alpha(count(text, 2, WORDS), UNIFORM, alpha=alpha)
    p = model.distributions(model.nodes(torch.arange(WORDS).unsqueeze(1)), torch.float64)
    counts = np.zeros((WORDS, WORDS))
    for sentence in as_lists(text):
        np.add.at(counts, ([END, *sentence[:-1]], sentence), 1)
    expected = (counts + alpha) / (counts.sum(axis=1, keepdims=True) + alpha * WORDS)
    assert np.allclose(p, expected, rtol=1e-12)


def test_jelinek_mercers_weights_are_the_likeliest():
    generator = np.random.default_rng(0)
    above, below = generator.random((2, 400))
    above[generator.random(400) < 0.3] = 0
    times, kind = generator.integers(1, 5, 400), generator.integers(0, 3, 400)
    found = _likeliest(above, below, times, kind)
    for number in range(3):
        a, b, t = (array[kind == number] for array in (above, below, times))
        fine = np.linspace(0.001, 0.999, 999)[:, None]
        best = fine[np.argmax((t * np.log(fine * a + (1 - fine) * b)).sum(axis=1)), 0]
        assert found[number] == pytest.approx(best, abs=0.02)
