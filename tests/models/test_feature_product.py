import numpy as np
import pytest
import torch
from hypothesis import given
from log_linear_cases import cases, dense, random_features, sparse

from accord.models.encoder import PIECE, FeatureProduct
from accord.models.phi import Features


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
