import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_linear_cases import cases, dense, random_features, sparse

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


def test_a_file_without_an_array_is_refused_by_its_name(tmp_path):
    np.savez(tmp_path / "features.npz", indptr=[0], indices=[], values=[], feature_count=1)
    with pytest.raises(ValueError, match=r"features\.npz.*signature"):
        Features.load(tmp_path / "features.npz")


@pytest.mark.parametrize(
    ("indptr", "indices", "values", "feature_count", "message"),
    [
        ([0, 1], [3], [1.0], 3, "indices: expected features from 0 to under 3; got 3 at index 0"),
        ([0, 1, 2], [0, -1], [1.0, 1.0], 3, "indices: .*got -1 at index 1"),
        ([0, 1], [0], [np.nan], 3, "values: expected finite numbers, got nan at index 0"),
        ([0, 2], [0, 1], [1.0], 3, "values: expected 2 numbers as in indices, got 1"),
        ([0, 2, 1, 2], [0, 1], [1.0, 1.0], 3, "indptr: expected to rise, falls after index 1"),
        ([0, 1], [0, 1], [1.0, 1.0], 3, r"indptr: expected to run from 0 to 2, got \[0, 1\]"),
        ([0, 2], [1, 1], [1.0, 1.0], 3, "indices: row 0 names feature 1 twice"),
        ([0, 1], [0.5], [1.0], 3, "indices: expected whole numbers, got float64"),
        ([0], [], [], 3, "signature: expected at least one word, got none"),
    ],
)
def test_a_bad_matrix_is_refused_by_tensor_and_index(
    indptr, indices, values, feature_count, message
):
    with pytest.raises(ValueError, match=message):
        Features.from_rows(indptr, indices, values, feature_count)


def test_a_bad_signature_is_refused():
    with pytest.raises(
        ValueError, match="signature: expected signatures from 0 to under 1; got 1 at index 1"
    ):
        Features([0, 1], [0], [1.0], [0, 1], 1)


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
