"""Classes of words for the output: every word has one, and rare words have one with unseen ones."""

import numpy as np
import pytest

from accord.models.data import Sentences
from accord.pipeline.data.word_vectors import word_classes

COUNTS = np.array([300, 200, 120, 60, 40, 20, 10, 5, 3, 2, 1, 1, 1, 0, 0])  # of words 0 to 14


def text() -> Sentences:
    """The words of COUNTS in an order by chance, END (0) being the last of each sentence."""
    generator = np.random.default_rng(0)
    words = generator.permutation(np.repeat(np.arange(1, 15), COUNTS[1:]))
    ends = np.sort(generator.choice(np.arange(1, len(words)), 299, replace=False))
    ids = np.append(np.insert(words, ends, 0), 0)
    stops = np.flatnonzero(ids == 0)
    return Sentences(ids, np.diff(stops, prepend=-1))


@pytest.mark.parametrize("by", ["neighbours", "frequency", "evenly"])
def test_every_word_has_a_class_and_rare_ones_share_it_with_unseen_ones(by):
    classes = word_classes(text(), COUNTS, 4, by)
    assert len(classes) == len(COUNTS)
    assert sorted(set(classes)) == list(range(4))
    assert len(set(classes[10:])) == 1


def test_by_frequency_the_frequent_words_are_apart():
    classes = word_classes(text(), COUNTS, 4, "frequency")
    sizes = np.bincount(classes[:10])
    assert (np.diff(classes[:10]) >= 0).all()
    assert sizes[0] < sizes[-1]


def test_evenly_classes_have_as_many_words():
    assert np.bincount(word_classes(text(), COUNTS, 5, "evenly")[:10]).tolist() == [3, 2, 2, 2, 1]
