"""Automata over words: states of texts, and bad automata."""

import numpy as np
import pytest

from accord.models.constraints import WordAutomaton
from accord.models.data import Sentences


def test_a_forbidden_word_leaves_the_state_and_a_sentence_starts_anew():
    automaton = WordAutomaton(np.array([0, 1]), np.array([[1, -1], [1, 0]]))
    sentences = Sentences(np.array([1, 0, 1, 0, 0, 1]), np.array([3, 1, 2]))
    assert automaton.states(sentences).tolist() == [0, 0, 1, 0, 0, 1]


@pytest.mark.parametrize(
    ("group", "follow", "message"),
    [
        ([0, 2], [[0, 0]], "group: expected groups from 0 to under 2; got 2 at index 1"),
        ([0, 1], [[0, 1]], r"follow: expected states from -1 to under 1; got 1 at index \(0, 1\)"),
    ],
)
def test_a_bad_automaton_is_rejected(group, follow, message):
    with pytest.raises(ValueError, match=message):
        WordAutomaton(np.array(group), np.array(follow))
