"""Φ by signature, its file, Φ·W with its gradient, and the block of dense features."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from log_linear_cases import (
    by_definition,
    cases,
    dense,
    in_two_blocks,
    random_features,
    random_layer,
    random_mass,
    random_states,
    sparse,
)

from accord.models.background import Unigram
from accord.models.encoder import PIECE, FeatureEmbedding, FeatureProduct
from accord.models.log_linear import LogLinear
from accord.models.phi import Features


@given(cases())
def test_rows_come_back_as_they_went_in(case):
    phi, _, _ = case
    assert np.array_equal(dense(sparse(phi)), phi)


@given(cases())
def test_signatures_are_the_distinct_rows_numbered_by_first_occurrence(case):
    phi, _, _ = case
    features = sparse(phi)
    rows = [tuple(row + 0.0) for row in phi]  # + 0.0 makes −0 the 0 it equals
    numbers = {row: number for number, row in enumerate(dict.fromkeys(rows))}
    assert features.signature.tolist() == [numbers[row] for row in rows]
    assert features.signature_count == len(numbers)


def test_order_and_explicit_zeros_do_not_make_a_signature():
    features = Features.from_rows([0, 2, 4, 7], [3, 1, 1, 3, 0, 1, 3], [2, 5, 5, 2, 0, 5, 2], 4)
    assert features.signature.tolist() == [0, 0, 0]
    assert features.indices.tolist() == [1, 3]


def test_close_is_not_equal():
    features = Features.from_rows([0, 1, 2], [0, 0], [1.0, np.nextafter(1.0, 2.0)], 1)
    assert features.signature_count == 2


def test_one_hot_is_the_identity():
    features = Features.one_hot(5)
    assert features.is_identity
    assert np.array_equal(dense(features), np.eye(5))
    assert not sparse(np.eye(5)[[0, 1, 1, 3, 4]]).is_identity
    assert not sparse(2 * np.eye(5)).is_identity


def test_members_are_the_words_of_each_signature():
    features = random_features()
    members, starts = features.members
    for signature in range(features.signature_count):
        words = members[starts[signature] : starts[signature + 1]]
        assert words.tolist() == np.flatnonzero(features.signature == signature).tolist()


def test_splitting_keeps_every_row_and_separates_groups():
    features = random_features()
    group = np.arange(features.vocabulary_size) % 3
    split = features.split_by(group)
    assert np.array_equal(dense(split), dense(features))
    for signature in range(split.signature_count):
        assert len(set(group[split.signature == signature])) == 1


def test_saving_and_loading_changes_nothing(tmp_path):
    features = random_features()
    features.save(tmp_path / "features.npz")
    loaded = Features.load(tmp_path / "features.npz")
    assert loaded.feature_count == features.feature_count
    for name in ("indptr", "indices", "values", "signature"):
        assert np.array_equal(getattr(loaded, name), getattr(features, name))


@pytest.mark.parametrize(
    ("indptr", "indices", "values", "feature_count", "message"),
    [
        ([0, 1], [3], [1.0], 3, "indices: expected features from 0 to under 3, got 3 at index 0"),
        ([0, 1], [0], [np.nan], 3, "values: expected finite numbers, got nan at index 0"),
        ([0, 2, 1, 2], [0, 1], [1.0, 1.0], 3, "indptr: expected to rise, falls after index 1"),
        ([0, 2], [1, 1], [1.0, 1.0], 3, "indices: row 0 names feature 1 twice"),
    ],
)
def test_a_bad_matrix_is_refused_by_tensor_and_index(
    indptr, indices, values, feature_count, message
):
    with pytest.raises(ValueError, match=message):
        Features.from_rows(indptr, indices, values, feature_count)


@given(cases(), st.data())
def test_merged_signatures_are_the_last_one_and_have_no_features(case, data):
    phi, _, _ = case
    features = sparse(phi)
    count = features.signature_count
    chosen = data.draw(st.lists(st.booleans(), min_size=count, max_size=count).map(np.array))
    merged = features.merging(chosen)
    is_merged = chosen[features.signature]
    assert np.array_equal(dense(merged), np.where(is_merged[:, None], 0, phi))
    assert merged.signature_count == np.sum(~chosen) + chosen.any()
    assert (merged.signature[is_merged] == merged.signature_count - 1).all()


@given(cases())
def test_it_is_the_matrix_product(case):
    phi, _, seed = case
    features = sparse(phi)
    product = FeatureProduct(features)
    weight = torch.randn(
        features.feature_count, 3, generator=torch.Generator().manual_seed(seed)
    ).double()
    of_words = product(weight)[torch.from_numpy(features.signature)]
    assert torch.allclose(of_words, torch.from_numpy(phi) @ weight, atol=1e-12)


@pytest.mark.parametrize("words", [40, 600])
def test_rows_of_some_signatures_are_rows_of_the_product_and_so_is_their_gradient(words):
    features = random_features(words=words, width=12)
    product, chosen = FeatureProduct(features), torch.tensor([7, 0, 3, 11])
    weight = torch.randn(features.feature_count, 3, dtype=torch.float64, requires_grad=True)
    found, expected = product.of_signatures(weight, chosen), product(weight)[chosen]
    assert torch.allclose(found, expected, atol=1e-12)
    gradients = [torch.autograd.grad(each.sin().sum(), weight)[0] for each in (found, expected)]
    assert torch.allclose(*gradients, atol=1e-12)


@pytest.mark.parametrize("words", [40, 600])  # some features are in more signatures than a piece
def test_transposed_is_the_product_with_the_transpose(words):
    features = random_features(words=words, width=12)
    assert (np.bincount(features.indices).max() > PIECE) == (words > 40)
    rows = torch.randn(features.signature_count, 3, dtype=torch.float64)
    of_words = torch.from_numpy(dense(features))
    once_each = torch.from_numpy(features.members[0][features.members[1][:-1]])
    expected = of_words[once_each].T @ rows
    assert torch.allclose(FeatureProduct(features).transposed(rows), expected, atol=1e-12)


@pytest.mark.parametrize("method", ["forward", "transposed"])
def test_its_gradient_is_right(method):
    features = random_features(words=12, width=4)
    rows = features.feature_count if method == "forward" else features.signature_count
    inputs = torch.randn(rows, 2, dtype=torch.float64, requires_grad=True)
    product = getattr(FeatureProduct(features), method)
    assert torch.autograd.gradcheck(product, inputs)
    assert torch.autograd.gradgradcheck(product, inputs)


def test_one_hot_features_cost_nothing():
    weight = torch.randn(7, 3)
    assert FeatureProduct(Features.one_hot(7))(weight) is weight


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
