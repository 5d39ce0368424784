"""A dense block of Φ changes how a·φ is computed, and nothing else."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from log_linear_cases import (
    by_definition,
    dense,
    in_two_blocks,
    random_layer,
    random_mass,
    random_states,
    sparse,
)

from accord.models.background import Unigram
from accord.models.encoder import FeatureEmbedding, FeatureProduct
from accord.models.log_linear import LogLinear
from accord.models.phi import Features


def random_phi(words: int = 40, sparse_columns: int = 5, dimensions: int = 3, seed: int = 0):
    """Rows with few ones before real numbers; every third word shares its vector with another."""
    generator = np.random.default_rng(seed)
    ones = generator.random((words, sparse_columns)) < 0.3
    vectors = generator.normal(size=(words, dimensions)).astype(np.float32)
    vectors[::3] = vectors[1::3][: len(vectors[::3])].repeat(2, axis=0)[: len(vectors[::3])]
    vectors[-4:] = 0
    return np.column_stack([ones, vectors]).astype(float)


PHI = random_phi()
FEATURES, FLAT = in_two_blocks(PHI, 3), sparse(PHI)
MASS = random_mass(len(PHI))


def test_a_signature_is_a_distinct_pair_of_rows():
    assert np.allclose(dense(FEATURES), PHI)
    assert FEATURES.signature_count == len(np.unique(PHI, axis=0))
    assert (FEATURES.feature_count, FEATURES.sparse_count, FEATURES.dimensions) == (8, 5, 3)


def test_two_blocks_give_the_product_of_one_and_its_gradient():
    weight = torch.randn(8, 4, dtype=torch.float64)
    of_words = []
    for features in (FEATURES, FLAT):
        w = weight.clone().requires_grad_()
        rows = FeatureProduct(features)(w)[torch.from_numpy(features.signature)]
        rows.sin().sum().backward()
        of_words.append((rows.detach(), w.grad))
    for two, one in zip(*of_words, strict=True):
        assert torch.allclose(two, one, atol=1e-12)


def test_rows_of_some_signatures_have_their_vectors_as_far_as_these_are_kept():
    product, chosen = FeatureProduct(FEATURES), torch.tensor([5, 0, 17])
    weight = torch.randn(8, 4, dtype=torch.float64)
    kept = (torch.arange(FEATURES.signature_count) % 2).unsqueeze(1) * 2.0
    for is_dense in (None, kept):
        found = product.of_signatures(weight, chosen, is_dense)
        assert torch.allclose(found, product(weight, is_dense)[chosen], atol=1e-12)


def test_the_transposed_product_is_the_transpose():
    product = FeatureProduct(FEATURES)
    weight = torch.randn(8, 2, dtype=torch.float64)
    rows = torch.randn(FEATURES.signature_count, 2, dtype=torch.float64)
    forward, back = (product(weight) * rows).sum(), (weight * product.transposed(rows)).sum()
    assert torch.allclose(forward, back)


@given(st.integers(0, 2**16), st.integers(1, 4))
def test_probabilities_are_those_of_the_definition_and_sum_to_one(seed, dimensions):
    phi = random_phi(words=20, dimensions=dimensions, seed=seed)
    features = in_two_blocks(phi, dimensions)
    layer = random_layer(features, Unigram(features, MASS[:20]), seed=seed)
    h = random_states(3, seed=seed)
    expected = by_definition(phi, np.log(MASS[:20]), layer.adaptor(h))
    assert torch.allclose(layer.log_prob(h), expected, atol=1e-10)
    assert torch.allclose(layer.log_prob(h).exp().sum(dim=1), torch.ones(3, dtype=h.dtype))


def test_the_gradient_on_the_adaptor_is_expected_minus_observed():
    layer = LogLinear(FEATURES, Unigram(FEATURES, MASS), FEATURES.feature_count).double()
    with torch.no_grad():
        layer.weight.copy_(torch.eye(FEATURES.feature_count))
    a = random_states(7, size=FEATURES.feature_count).requires_grad_()
    targets = torch.arange(7) * 5
    (gradient,) = torch.autograd.grad(layer.loss(a, targets), a)
    phi, p = torch.from_numpy(dense(FEATURES)), layer.log_prob(a).exp()
    assert torch.allclose(gradient, (p @ phi - phi[targets]) / 7, atol=1e-12)


def test_scores_are_equal_in_any_batch():
    layer = random_layer(FEATURES, Unigram(FEATURES, MASS))
    h, words = random_states(30), torch.arange(30)
    together = layer.log_prob_of(h, words)
    alone = torch.cat([layer.log_prob_of(h[i : i + 1], words[i : i + 1]) for i in range(30)])
    assert torch.allclose(together, alone, atol=1e-13)


def test_signatures_split_by_a_group_keep_their_vectors():
    split = FEATURES.split_by(np.arange(len(PHI)) % 4)
    assert np.array_equal(dense(split), dense(FEATURES))


def test_a_dense_block_is_saved_and_loaded(tmp_path):
    FEATURES.save(tmp_path / "phi.npz")
    loaded = Features.load(tmp_path / "phi.npz")
    assert np.array_equal(dense(loaded), dense(FEATURES))
    assert loaded.feature_count == FEATURES.feature_count


def test_vectors_are_dropped_whole_and_only_in_training():
    embedding = FeatureEmbedding(FEATURES, 4, vector_dropout=0.5)
    with torch.no_grad():
        embedding.weight[: FEATURES.sparse_count] = 0
    words = torch.arange(len(PHI) - 4)  # the last have no vector
    whole = embedding.eval()(words)
    read = embedding.train()(words)
    dropped = (read == 0).all(dim=1)
    assert 0 < dropped.sum() < len(words)
    assert torch.allclose(read[~dropped], 2 * whole[~dropped], atol=1e-6)


@pytest.mark.parametrize(
    ("vectors", "vector", "message"),
    [
        (np.array([[np.nan]], np.float32), [0, 0], "vectors: expected finite numbers, got nan"),
        (np.array([0.5], np.float32), [0, 0], "vectors: expected a matrix of numbers"),
        (np.array([[0.5]], np.float32), [0, 1], "vector: expected rows of vectors from 0"),
        (np.array([[0.5]], np.float32), [0], "vector: expected 2 rows, one per signature; got 1"),
    ],
)
def test_a_bad_dense_block_is_refused(vectors, vector, message):
    with pytest.raises(ValueError, match=message):
        Features([0, 1, 1], [0], [1.0], [0, 1], 1 + vectors.shape[-1], vectors, vector)
