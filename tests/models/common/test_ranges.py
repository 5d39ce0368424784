"""Ranges laid out without a loop are those that a loop lays out."""

from itertools import chain

import numpy as np
import pytest

from accord.models.data import in_a_row, in_columns

CASES = [([5, 0, 9], [2, 3, 1]), ([7, 7, 1], [0, 4, 0]), ([3], [0]), ([], [])]


@pytest.mark.parametrize(("starts", "lengths"), CASES)
def test_in_a_row_and_in_columns(starts, lengths):
    starts, lengths = np.array(starts, int), np.array(lengths, int)
    expected = [
        list(range(start, start + length)) for start, length in zip(starts, lengths, strict=True)
    ]
    assert in_a_row(starts, lengths).tolist() == [*chain(*expected)]
    positions, is_place = in_columns(starts, lengths)
    assert positions.shape == is_place.shape == (max(lengths, default=0), len(starts))
    assert [positions[:, c][is_place[:, c]].tolist() for c in range(len(starts))] == expected
    assert not positions[~is_place].any()
