"""Small cases of Φ, b and h, and the model computed by the definition, word by word."""

import numpy as np
import torch
from hypothesis import strategies

from accord.models.background import Background, Unigram
from accord.models.data import preceding
from accord.models.log_linear import LogLinear
from accord.models.phi import Features

DOUBLE = torch.float64


def dense(features: Features) -> np.ndarray:
    """Φ with one row per word (V × F)."""
    rows = np.zeros((features.signature_count, features.feature_count))
    for signature, (start, end) in enumerate(
        zip(features.indptr[:-1], features.indptr[1:], strict=True)
    ):
        rows[signature, features.indices[start:end]] = features.values[start:end]
    rows[:, features.sparse_count :] = features.vectors[features.vector]
    return rows[features.signature]


def sparse(matrix) -> Features:
    """Φ from one dense row per word."""
    matrix = np.atleast_2d(np.asarray(matrix, dtype=float))
    row, column = np.nonzero(matrix)
    indptr = np.searchsorted(row, np.arange(len(matrix) + 1))
    return Features.from_rows(indptr, column, matrix[row, column], matrix.shape[1])


def in_two_blocks(matrix, dimensions: int) -> Features:
    """The same Φ, its last columns as a dense block."""
    matrix = np.atleast_2d(np.asarray(matrix, dtype=float))
    columns = matrix.shape[1] - dimensions
    vectors, vector = np.unique(matrix[:, columns:], axis=0, return_inverse=True)
    return sparse(matrix[:, :columns]).with_vectors(vectors.astype(np.float32), vector.ravel())


def by_definition(phi, log_b, a) -> torch.Tensor:
    """log p(x | K) = log b(K, x) + a·φ(x) − log Σ_y b(K, y)·exp(a·φ(y)), over all words."""
    return (torch.as_tensor(log_b) + a @ torch.as_tensor(phi).T).log_softmax(dim=1)


def random_layer(features, background, size=5, seed=0, dtype=DOUBLE, scale=1.0, **options):
    """A layer with random weights and biases, adjusted as the options say."""
    layer = LogLinear(features, background, size, **options).to(dtype)
    return with_random_weights(layer, seed, scale)


def with_random_weights(layer, seed=0, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * scale)
    return layer


def random_states(rows, size=5, seed=1, dtype=DOUBLE) -> torch.Tensor:
    return torch.randn(rows, size, generator=torch.Generator().manual_seed(seed)).to(dtype)


def random_features(words=60, width=8, seed=0, real=True) -> Features:
    """Few features, so that words share rows; a row in ten is empty."""
    generator = np.random.default_rng(seed)
    matrix = (generator.random((words, width)) < 0.25).astype(float)
    matrix[generator.random(words) < 0.1] = 0
    return sparse(matrix * generator.choice([1, -0.5, 2.25], width) if real else matrix)


def random_mass(words, seed=0) -> np.ndarray:
    return np.random.default_rng(seed).gamma(0.3, size=words) + 1e-9


class Bigram(Background):
    """b(K, x) = mass[last word, x]: exact, and small enough to be a table."""

    def __init__(self, features: Features, mass: np.ndarray):
        super().__init__(features)
        by_signature = np.zeros((len(mass), features.signature_count))
        np.add.at(by_signature.T, features.signature, mass.T)
        with np.errstate(divide="ignore"):
            self.register_buffer("log_mass", torch.from_numpy(np.log(mass)))
            self.register_buffer("log_sums", torch.from_numpy(np.log(by_signature)))

    def contexts(self, sentences, training=False):
        return preceding(sentences, 1, end=0)

    def class_terms(self, context=None, split=False):
        return self.log_sums[context[:, -1]], None

    def log_mass_of(self, words, context=None):
        log_mass = self.log_mass[context[:, -1]]
        return log_mass if words is None else log_mass.gather(1, words)


numbers = strategies.sampled_from([0.0, 1.0, -1.0, 0.5, 3.0]) | strategies.floats(-4, 4)
masses = strategies.just(0.0) | strategies.floats(1e-300, 1e3)


@strategies.composite
def cases(draw):
    """(Φ word by word, b, seed): from one word to a dozen, rows repeated, empty and real-valued."""
    width = draw(strategies.integers(1, 5))
    row = strategies.just([0.0] * width) | strategies.lists(numbers, min_size=width, max_size=width)
    different = draw(strategies.lists(row, min_size=1, max_size=6))
    words = draw(strategies.lists(strategies.sampled_from(different), min_size=1, max_size=12))
    mass = draw(strategies.lists(masses, min_size=len(words), max_size=len(words)))
    heavy = draw(strategies.integers(0, len(words) - 1))
    mass[heavy] = mass[heavy] or 1.0
    return np.array(words), np.array(mass), draw(strategies.integers(0, 2**16))


def unigram_layer(words=60, seed=0, dtype=DOUBLE, **options):
    """(Φ, b, a layer over them)."""
    features, mass = random_features(words, seed=seed), random_mass(words, seed)
    return features, mass, random_layer(features, Unigram(features, mass), dtype=dtype, **options)
