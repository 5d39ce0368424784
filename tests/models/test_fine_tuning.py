"""Fine-tuning: Φ grown by words computes as before at first, and b moves towards the new text."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from accord.models.encoder import FeatureProduct
from accord.models.fine_tuning import (
    BY_FEATURE,
    adapted,
    of_words,
    rows_by_name,
    text_share,
    with_own_features,
)
from accord.models.ngrams import discounted
from accord.models.phi import Features

SPARSE = Features.from_rows([0, 2, 3, 5, 5], [0, 1, 2, 0, 1], np.ones(5), 3)
DENSE = SPARSE.with_vectors(np.eye(3, 2, dtype=np.float32), np.array([0, 1, 2, 2]))
COUNTS = np.array([50.0, 0, 30, 12, 5, 2, 2, 1, 1, 1])
PRIOR = discounted(COUNTS, np.zeros(10, int), np.ones(10))


def rows_of_words(features: Features, weight: torch.Tensor) -> torch.Tensor:
    return FeatureProduct(features)(weight)[torch.from_numpy(features.signature)]


@pytest.mark.parametrize("features", [SPARSE, DENSE], ids=["sparse", "dense"])
def test_words_and_features_that_are_added_change_nothing_at_first(features):
    names = [f"old {number}" for number in range(features.feature_count)]
    more = [*names[: features.sparse_count], "new a", "new b", *names[features.sparse_count :]]
    weight = torch.randn(len(names), 5)
    words = of_words(features, np.array([0, 1, 2, 3, 2, 0]))
    grown = with_own_features(words, np.array([1, 4]), features.sparse_count)
    assert grown.feature_count == len(more)
    tensors = {"embedding.weight": weight, "encoder.weight": torch.ones(7, 3)}
    new = rows_by_name(tensors, names, more)
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
    chosen = of_words(features, words)
    assert chosen.signature_count == 2
    assert torch.equal(rows_of_words(chosen, weight), rows_of_words(features, weight)[words])


def test_what_is_read_has_the_same_features_as_what_is_predicted():
    read = replace(SPARSE, feature_count=DENSE.feature_count)  # without the vectors
    words = np.array([0])
    for features in (read, DENSE):
        grown = with_own_features(features, words, DENSE.sparse_count)
        row = slice(*grown.indptr[grown.signature[0] :][:2])
        assert grown.feature_count == DENSE.feature_count + 1
        assert grown.indices[row].tolist() == [0, 1, 3]


def test_rows_follow_the_names_and_new_ones_are_zero():
    tensors = {name: torch.tensor([1.0, 2.0, 3.0]) for name in BY_FEATURE}
    grown = rows_by_name(tensors, ["a", "b", "c"], ["c", "x", "a"])
    assert all(rows.tolist() == [3.0, 0.0, 1.0] for rows in grown.values())


def test_the_text_that_it_was_counted_on_changes_nothing():
    assert np.array_equal(adapted(PRIOR, COUNTS, np.zeros(10, int)), PRIOR)


@given(
    st.lists(st.integers(0, 40), min_size=10, max_size=10),
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 2)), max_size=6),
)
def test_all_words_that_can_come_have_mass_and_the_sum_is_one(counts, new):
    counts = np.array([*counts, *(times for times, _ in new)])
    read_as = np.array([0] * 10 + [word for _, word in new], dtype=int)
    mass = adapted(PRIOR, counts, read_as)
    assert mass.sum() == pytest.approx(1)
    assert (mass > 0).all()


def test_new_words_share_the_mass_of_the_unknown_one_that_they_were_read_as():
    read_as = np.array([0] * 10 + [1, 1, 1])
    mass = adapted(PRIOR, np.array([*COUNTS, 6, 1, 2]), read_as)
    as_one = np.array([*COUNTS])
    as_one[1] = 9
    together = adapted(PRIOR, as_one, np.zeros(10, int))
    assert mass[[1, 10, 11, 12]].sum() == pytest.approx(together[1])
    assert mass[10] > mass[12] > mass[11] > 0
    assert np.delete(mass[:10], 1) == pytest.approx(np.delete(together, 1))


def test_a_text_of_another_kind_is_believed_the_more_the_longer_it_is():
    other = COUNTS[::-1]
    shares = [text_share(PRIOR, other * times) for times in (1, 10, 100)]
    assert 0 < shares[0] < shares[1] < shares[2] < 1
