import numpy as np
import pytest
import torch
from log_linear_cases import random_features, random_mass

from accord.models.background import Uniform, Unigram


def test_class_mass_is_the_sum_over_the_words_of_a_signature():
    features, mass = random_features(), random_mass(60)
    sums = np.bincount(features.signature, mass) / mass.sum()
    assert np.allclose(Unigram(features, mass).class_terms()[0].exp(), sums, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1.0, 1e300])
def test_scale_does_not_matter(scale):
    features, mass = random_features(), random_mass(60)
    mass /= mass.max()
    scaled, plain = Unigram(features, mass * scale), Unigram(features, mass)
    assert torch.allclose(scaled.class_terms()[0], plain.class_terms()[0], rtol=1e-12, atol=1e-12)


def test_the_smallest_mass_beside_the_largest_is_kept():
    features = random_features()
    mass = np.ones(60)
    mass[7], mass[8] = 5e-324, 1e308
    log_mass = Unigram(features, mass).log_mass_of(torch.tensor([7, 8]))
    assert log_mass.tolist() == pytest.approx([np.log(5e-324) - np.log(1e308), 0.0])


def test_a_sum_beyond_the_largest_number_is_kept():
    features = random_features()
    huge, even = Unigram(features, np.full(60, 1e308)), Uniform(features)
    assert torch.allclose(huge.class_terms()[0], even.class_terms()[0], atol=1e-12)


def test_uniform_gives_every_word_the_same():
    features = random_features()
    log_mass = Uniform(features).log_mass_of(torch.arange(60))
    assert torch.allclose(log_mass, torch.tensor(1 / 60, dtype=torch.float64).log())


@pytest.mark.parametrize(
    ("mass", "message"),
    [
        ([1.0, np.nan, 1.0], "mass: expected finite numbers ≥ 0, got nan at index 1"),
        ([1.0, 1.0, -0.1], "mass: expected finite numbers ≥ 0, got -0.1 at index 2"),
        ([np.inf, 1.0, 1.0], "mass: expected finite numbers ≥ 0, got inf at index 0"),
        ([0.0, 0.0, 0.0], "mass: expected a positive sum, got 3 zeros"),
        ([1.0, 1.0], r"mass: expected 3 numbers, one per word; got shape \(2,\)"),
    ],
)
def test_a_bad_mass_is_refused_by_index(mass, message):
    with pytest.raises(ValueError, match=message):
        Unigram(random_features(words=3), mass)
