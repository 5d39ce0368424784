"""The unigram background: every word has mass, and a signature keeps that of its words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.models.ngrams import UNSEEN_SIGNATURE, discounted, unseen_signature

WORDS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6)), min_size=1, max_size=60)


@given(WORDS)
def test_every_word_has_mass_and_a_seen_signature_keeps_its_own(words):
    counts = np.array([count for count, _ in words], dtype=float)
    _, signature = np.unique([number for _, number in words], return_inverse=True)
    share = np.random.default_rng(len(words)).uniform(0.01, 1, len(words))
    mass = discounted(counts, signature, share)
    assert (mass > 0).all()
    assert mass.sum() == pytest.approx(1)
    before = np.bincount(signature, counts)
    before[before == 0] = unseen_signature(counts, signature)
    assert np.bincount(signature, mass) == pytest.approx(before / before.sum())


def test_unseen_words_share_what_their_signature_frees():
    counts = np.array([1.0, 1.0, 2.0, 0.0, 0.0, 9.0])
    signature = np.array([0, 0, 0, 0, 0, 1])
    mass = discounted(counts, signature, np.array([1, 1, 1, 0.5, 1, 1]))
    discount = 2 / (2 + 2 * 1)
    assert mass * counts.sum() == pytest.approx(
        [1 - discount, 1 - discount, 2 - discount, discount, 2 * discount, 9]
    )


def test_words_of_no_share_have_mass_only_if_they_were_seen():
    counts = np.array([3.0, 1.0, 0.0, 0.0, 2.0, 0.0])
    signature = np.array([0, 0, 0, 1, 2, 2])
    share = np.array([1.0, 0, 0, 0, 1, 1])
    mass = discounted(counts, signature, share)
    assert (mass > 0).tolist() == [True, True, False, False, True, True]
    assert mass.sum() == pytest.approx(1)
    among_others = discounted(np.append(counts, 0), np.append(signature, 3), np.append(share, 0))
    assert among_others == pytest.approx([*mass, 0]), "words without a share change nothing"


def test_unseen_signatures_together_count_as_often_as_those_seen_once():
    signature = np.arange(112)
    counts = np.array([0.0] * 100 + [1.0] * 10 + [2.0, 5.0])
    assert unseen_signature(counts, signature) == pytest.approx(10 / 100)
    assert unseen_signature(counts[90:], signature[90:] - 90) == UNSEEN_SIGNATURE, "at most"
    assert unseen_signature(np.zeros(5), np.arange(5)) > 0
