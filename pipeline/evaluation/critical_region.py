"""Which words of a minimal pair are compared: those that differ, and the first one behind them.

Where a pair varies the subject and keeps the verb, the words that differ say little: `le` against
`les`. The word behind them is the same in both, and only its context is right or wrong.

Needs numpy only, as models are also judged where they are trained.
"""

from typing import NamedTuple

import numpy as np

from accord.pipeline.prepared.suite_ids import Suite


class Regions(NamedTuple):
    """For each pair, positions in its two sentences (P); the end of a sentence is one too.

    The words that differ stand from `Suite.critical` to before these ends. Where one sentence has
    no word that the other lacks, the word behind belongs to them in both: what is compared must
    not be empty.
    """

    good_end: np.ndarray
    bad_end: np.ndarray
    good_after: np.ndarray  # the first word behind the last difference
    bad_after: np.ndarray


def regions(suite: Suite) -> Regions:
    found = np.zeros((len(suite.good), 4), np.int64)
    starts, lengths = suite.sentences.starts, suite.lengths
    for number in np.flatnonzero(suite.known):
        good, bad = (
            suite.form[starts[at] : starts[at] + lengths[at]]  # its end is shared too
            for at in (suite.good[number], suite.bad[number])
        )
        first = suite.critical[number]
        shared = _shared_end(good[first:], bad[first:])
        after = np.array([len(good), len(bad)]) - shared
        found[number, :2] = after + (after == first).any()
        found[number, 2:] = after
    return Regions(*found.T)


def _shared_end(good: np.ndarray, bad: np.ndarray) -> int:
    """How many words both have at their end, that of the sentence included."""
    shortest = min(len(good), len(bad))
    differ = good[::-1][:shortest] != bad[::-1][:shortest]
    return int(np.argmax(differ)) if differ.any() else shortest
