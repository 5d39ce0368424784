"""Φ grown by words and features computes as before until the new weights are learned."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from accord.models.encoder import FeatureProduct
from accord.models.fine_tuning import BY_FEATURE, of_words, rows_by_name, with_own_features
from accord.models.phi import Features

SPARSE = Features.from_rows([0, 2, 3, 5, 5], [0, 1, 2, 0, 1], np.ones(5), 3)
DENSE = SPARSE.with_vectors(np.eye(3, 2, dtype=np.float32), np.array([0, 1, 2, 2]))


def rows_of_words(features: Features, weight: torch.Tensor) -> torch.Tensor:
    return FeatureProduct(features)(weight)[torch.from_numpy(features.signature)]


@pytest.mark.parametrize("features", [SPARSE, DENSE], ids=["sparse", "dense"])
def test_words_and_features_that_are_added_change_nothing_at_first(features):
    before = [f"old {number}" for number in range(features.feature_count)]
    after = [*before[: features.sparse_count], "new a", "new b", *before[features.sparse_count :]]
    weight = torch.randn(len(before), 5)
    words = of_words(features, np.array([0, 1, 2, 3, 2, 0]))
    grown = with_own_features(words, np.array([1, 4]), features.sparse_count)
    assert grown.feature_count == len(after)
    tensors = {"embedding.weight": weight, "encoder.weight": torch.ones(7, 3)}
    new = rows_by_name(tensors, before, after)
    assert new["encoder.weight"] is tensors["encoder.weight"]
    expected = rows_of_words(features, weight)[[0, 1, 2, 3, 2, 0]]
    assert torch.allclose(rows_of_words(grown, new["embedding.weight"]), expected)
    added = new["embedding.weight"].clone()
    added[features.sparse_count + 1] = 1.0  # the second new feature, which is word 4's
    changed = (rows_of_words(grown, added) - expected).abs().amax(dim=1) > 0.5
    assert changed.tolist() == [False, False, False, False, True, False]


@pytest.mark.parametrize("features", [SPARSE, DENSE], ids=["sparse", "dense"])
def test_some_words_keep_their_rows_and_no_others_remain(features):
    weight, words = torch.randn(features.feature_count, 5), np.array([3, 1, 3])
    found = of_words(features, words)
    assert found.signature_count == 2
    assert torch.equal(rows_of_words(found, weight), rows_of_words(features, weight)[words])


def test_what_is_read_has_the_same_features_as_what_is_predicted():
    read = replace(SPARSE, feature_count=DENSE.feature_count)  # without the vectors
    words = np.array([0])
    psi, phi = (with_own_features(each, words, DENSE.sparse_count) for each in (read, DENSE))
    assert psi.feature_count == phi.feature_count
    of_word = [
        each.indices[each.indptr[s] : each.indptr[s + 1]]
        for each, s in ((psi, psi.signature[0]), (phi, phi.signature[0]))
    ]
    assert of_word[0].tolist() == of_word[1].tolist() == [0, 1, 3]


def test_rows_are_found_by_name_and_new_ones_are_zero():
    tensors = {name: torch.tensor([1.0, 2.0, 3.0]) for name in BY_FEATURE}
    grown = rows_by_name(tensors, ["a", "b", "c"], ["c", "x", "a"])
    assert all(found.tolist() == [3.0, 0.0, 1.0] for found in grown.values())


def test_weights_of_other_features_are_refused():
    with pytest.raises(ValueError, match=r"output\.bias: expected 2 rows, .* got 3"):
        rows_by_name({"output.bias": torch.zeros(3)}, ["a", "b"], ["a", "b"])
