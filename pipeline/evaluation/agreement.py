"""Minimal pairs judged; the words that are compared.

Where a pair varies the subject and keeps the verb, the words that differ say little: `le` against
`les`. The word behind them is the same in both, and only its context is right or wrong.

Needs numpy only, as models are also judged where they are trained.

Asked of the whole sentence, its end included, also per word; of the *critical word*, the first that
differs, after the words that both sentences have in common; of the *critical region*, all from the
first to the last word that differs; and of the first word behind it, whose context alone differs.

Needs torch, numpy and safetensors only, as it also runs where a model was trained.
"""

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from accord.models.common.batching import Model
from accord.models.spelling.spelling import Spelling, WrittenText
from accord.pipeline.dataset.encoded import Suite, read_encoded_suite
from accord.pipeline.evaluation.measure import score


class CriticalRegions(NamedTuple):
    """For each pair, positions in its two sentences (P); the end of a sentence is one too.

    The words that differ stand from `Suite.critical` to before these ends. Where one sentence has
    no word that the other lacks, the word behind belongs to them in both: what is compared must
    not be empty.
    """

    good_end: np.ndarray
    bad_end: np.ndarray
    good_after: np.ndarray  # the first word behind the last difference
    bad_after: np.ndarray


def regions(suite: Suite) -> CriticalRegions:
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
    return CriticalRegions(*found.T)


def _shared_end(good: np.ndarray, bad: np.ndarray) -> int:
    """How many words both have at their end, that of the sentence included."""
    shortest = min(len(good), len(bad))
    differ = good[::-1][:shortest] != bad[::-1][:shortest]
    return int(np.argmax(differ)) if differ.any() else shortest


Z = 1.959963984540054
# The columns of margins.
SCORINGS = (
    "whole sentence",
    "critical word",
    "whole sentence per word",
    "critical region",
    "word behind it",
)
ACCURACY = {"accuracy": 0, "accuracy by critical word": 1}  # metric -> column of the margins


def measure_agreement(
    model: Model, spelling: Spelling | None, encoded: Path, name: str
) -> tuple[dict, np.ndarray]:
    """The figures of a suite that was prepared, and the margins of its pairs."""
    suite, text = read_encoded_suite(encoded, name)
    start = time.monotonic()
    found = margins(model, spelling, suite, text)
    rate = len(found) / (time.monotonic() - start)
    return agreement_figures(suite, found) | {"pairs judged per second": rate}, found


def margins(model: Model, spelling: Spelling | None, suite: Suite, text: WrittenText) -> np.ndarray:
    """By how many nats the right one is likelier (pairs × SCORINGS).

    NaN where a pair has a word that is not known and cannot be spelled.
    """
    log_p, _ = score(model, spelling, suite.sentences, text)
    starts = suite.sentences.starts
    whole = np.add.reduceat(log_p, starts)
    before = np.concatenate(([0.0], np.cumsum(log_p)))  # the sum of all words before each
    found = np.full((len(suite.good), len(SCORINGS)), np.nan)
    good, bad, first, good_end, bad_end, good_after, bad_after = (
        each[suite.known] for each in (suite.good, suite.bad, suite.critical, *regions(suite))
    )
    differ = [
        before[starts[at] + end] - before[starts[at] + first]
        for at, end in ((good, good_end), (bad, bad_end))
    ]
    found[suite.known] = np.column_stack(
        [
            whole[good] - whole[bad],
            log_p[starts[good] + first] - log_p[starts[bad] + first],
            whole[good] / suite.lengths[good] - whole[bad] / suite.lengths[bad],
            differ[0] - differ[1],
            log_p[starts[good] + good_after] - log_p[starts[bad] + bad_after],
        ]
    )
    return found


def agreement_figures(suite: Suite, margins: np.ndarray) -> dict[str, float]:
    """Share of pairs judged rightly, in each construction and as the mean over constructions."""
    right = np.where(suite.known[:, None], margins > 0, np.nan)
    figures = {
        "pairs": float(len(suite.known)),
        "pairs with unknown words": float((~suite.known).sum()),
    }
    for metric, column in ACCURACY.items():
        by_construction = {
            f"{metric}: {name}": float(right[chosen & suite.known, column].mean())
            for name, chosen in _constructions(suite)
            if (chosen & suite.known).any()
        }
        if by_construction:
            figures[metric] = float(np.mean([*by_construction.values()]))
        figures |= by_construction
    for name, chosen in _constructions(suite):
        figures[f"pairs: {name}"] = float(chosen.sum())
        figures[f"pairs with unknown words: {name}"] = float((chosen & ~suite.known).sum())
    return figures


def _constructions(suite: Suite) -> list[tuple[str, np.ndarray]]:
    """Each construction and which pairs are of it."""
    return [(str(name), suite.construction == i) for i, name in enumerate(suite.constructions)]


def wilson(right: float, pairs: float) -> tuple[float, float]:
    """Between which shares the true one lies, in 95 of 100 cases (Wilson 1927).

        (p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n),    p = right/pairs, n = pairs, z = 1.96

    It takes pairs for independent draws. Those of a suite made from templates are not.
    """
    share, spread = right / pairs, Z**2 / pairs
    half = Z * np.sqrt(share * (1 - share) / pairs + spread / (4 * pairs))
    return (share + spread / 2 - half) / (1 + spread), (share + spread / 2 + half) / (1 + spread)
