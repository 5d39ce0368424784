import numpy as np
import pytest
import torch
from log_linear_cases import Bigram, random_features, random_mass
from scipy.stats import chisquare

from accord.models.background import Uniform, Unigram


def test_class_mass_is_the_sum_over_the_words_of_a_signature():
    features, mass = random_features(), random_mass(60)
    sums = np.bincount(features.signature, mass) / mass.sum()
    assert np.allclose(Unigram(features, mass).class_mass().exp(), sums, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1.0, 1e300])
def test_scale_does_not_matter(scale):
    features, mass = random_features(), random_mass(60)
    mass /= mass.max()
    scaled, plain = Unigram(features, mass * scale), Unigram(features, mass)
    assert torch.allclose(scaled.class_mass(), plain.class_mass(), rtol=1e-12, atol=1e-12)


def test_the_smallest_mass_beside_the_largest_is_kept():
    features = random_features()
    mass = np.ones(60)
    mass[7], mass[8] = 5e-324, 1e308
    log_mass = Unigram(features, mass).log_mass_of(torch.tensor([7, 8]))
    assert log_mass.tolist() == pytest.approx([np.log(5e-324) - np.log(1e308), 0.0])


def test_a_sum_beyond_the_largest_number_is_kept():
    features = random_features()
    huge, even = Unigram(features, np.full(60, 1e308)), Uniform(features)
    assert torch.allclose(huge.class_mass(), even.class_mass(), atol=1e-12)


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


def test_draws_within_a_signature_follow_the_shares():
    features, mass = random_features(words=40, width=2), random_mass(40, seed=3) + 0.05
    mass[np.flatnonzero(features.signature == 0)[0]] = 0
    of_every_context = Bigram(features, np.tile(mass, (40, 1)))
    generator = torch.Generator().manual_seed(0)
    members = np.flatnonzero(features.signature == 0)
    p = mass[members] / mass[members].sum()
    for background, draws in ((Unigram(features, mass), 50_000), (of_every_context, 5_000)):
        context = torch.zeros(draws, 1, dtype=torch.long)
        drawn = background.draw(torch.zeros(draws, dtype=torch.long), context, generator)
        counts = np.bincount(drawn, minlength=40)
        assert counts.sum() == counts[members].sum() == draws
        assert counts[members][p == 0].sum() == 0
        assert chisquare(counts[members][p > 0], draws * p[p > 0]).pvalue > 1e-3
