"""An automaton that reads words: it allows some words in each state and weighs them."""

import numpy as np

from accord.models.common.batching import Sentences
from accord.models.common.checks import check_range


class WordAutomaton:
    """Reads words by groups, and forbids some groups in each state.

    `group` (V) is the group of each word; `follow` (Q × G) the state after a word of a group, −1
    where the state forbids it; `log_weight` (Q × G), if not all are alike, by how many nats the
    state makes a word of a group likelier. It starts in state 0.
    """

    def __init__(self, group: np.ndarray, follow: np.ndarray, log_weight: np.ndarray | None = None):
        self.group, self.follow = np.asarray(group, np.int64), np.asarray(follow, np.int64)
        states, groups = self.follow.shape
        check_range("group", "groups", self.group, 0, groups)
        check_range("follow", "states", self.follow, -1, states)
        weight = 0.0 if log_weight is None else log_weight
        self.log_weight = np.where(self.follow >= 0, weight, -np.inf)

    def states(self, sentences: Sentences) -> np.ndarray:
        """The state before each word of each sentence: (N).

        A forbidden word leaves the state as it was: its text has the probability zero already.
        """
        before = np.zeros(len(sentences.ids), np.int64)
        starts, now = sentences.starts, np.zeros(len(sentences.lengths), np.int64)
        for step in range(sentences.lengths.max(initial=0)):
            longer = np.flatnonzero(sentences.lengths > step)
            positions = starts[longer] + step
            before[positions] = now[longer]
            after = self.follow[now[longer], self.group[sentences.ids[positions]]]
            now[longer] = np.where(after >= 0, after, now[longer])
        return before
