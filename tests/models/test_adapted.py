"""b after a second text: between what was and what the text says, as far as the text can tell."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.models.fine_tuning import adapted, text_share
from accord.models.ngrams import discounted

COUNTS = np.array([50.0, 0, 30, 12, 5, 2, 2, 1, 1, 1])
BEFORE = discounted(COUNTS, np.zeros(10, int), np.ones(10))


def test_the_text_that_it_was_counted_on_changes_nothing():
    assert np.array_equal(adapted(BEFORE, COUNTS, np.zeros(10, int)), BEFORE)


@given(
    st.lists(st.integers(0, 40), min_size=10, max_size=10),
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 2)), max_size=6),
)
def test_all_words_that_can_come_have_mass_and_the_sum_is_one(counts, new):
    counts = np.array([*counts, *(times for times, _ in new)])
    read_as = np.array([0] * 10 + [word for _, word in new], dtype=int)
    mass = adapted(BEFORE, counts, read_as)
    assert mass.sum() == pytest.approx(1)
    assert (mass > 0).all()


def test_new_words_share_the_mass_of_the_unknown_one_that_they_were_read_as():
    read_as = np.array([0] * 10 + [1, 1, 1])
    mass = adapted(BEFORE, np.array([*COUNTS, 6, 1, 2]), read_as)
    as_one = np.array([*COUNTS])
    as_one[1] = 9
    together = adapted(BEFORE, as_one, np.zeros(10, int))
    assert mass[[1, 10, 11, 12]].sum() == pytest.approx(together[1])
    assert mass[10] > mass[12] > mass[11] > 0
    assert np.delete(mass[:10], 1) == pytest.approx(np.delete(together, 1))


def test_a_text_of_another_kind_is_believed_the_more_the_longer_it_is():
    other = COUNTS[::-1]
    shares = [text_share(BEFORE, other * times) for times in (1, 10, 100)]
    assert 0 < shares[0] < shares[1] < shares[2] < 1
