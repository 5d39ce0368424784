"""Minimal pairs judged, and the words that are compared.

A model prefers the sentence whose words are likelier. This can be asked of the whole sentence with
its end, also per word; of the *critical word*, the first that differs; of the *critical region*,
from the first to the last word that differs; and of the first word behind the region. Where a pair
varies the subject and keeps the verb, the words that differ say little (`le` against `les`). The
word behind them is the same in both sentences, and only its context is right or wrong.

A model may find both sentences equally likely. Such a tie counts one half, as a coin would decide
it. Baselines that have one feature for all rare words tie often.

Needs torch, numpy and safetensors only, as it also runs where a model was trained.
"""

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from accord.models.data import Model
from accord.models.spelling.spelling import Spelling, WrittenText, score_text
from accord.pipeline.base.names import UNKNOWN_ID
from accord.pipeline.data.encoded import Suite, read_encoded_suite


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
# Metric, the metric that counts its ties, column of the margins.
ACCURACY = (("accuracy", "ties", 0), ("accuracy by critical word", "ties by critical word", 1))
# Nats. Where a model has equal probabilities, their sums differ by rounding: by less than this.
TIE = 1e-4


def measure_agreement(
    model: Model, spelling: Spelling | None, encoded: Path, name: str
) -> tuple[dict, np.ndarray]:
    """The figures of a suite that was prepared, and the margins of its pairs."""
    suite, text = read_encoded_suite(encoded, name)
    start = time.monotonic()
    found = margins(model, spelling, suite, text)
    rate = len(found) / (time.monotonic() - start)
    return agreement_figures(suite, found) | {"pairs judged per second": rate}, found


def margins(
    model: Model,
    spelling: Spelling | None,
    suite: Suite,
    text: WrittenText,
    words: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """By how many nats the right one is likelier (pairs × SCORINGS).

    With `words`, where a word of each pair begins and ends in both sentences (P × 2 each), there is
    one column more: by how many nats this word is likelier in the right sentence. NaN where a pair
    has a word that is not known and cannot be spelled, or where the word begins at −1.
    """
    log_p, _ = score_text(model, spelling, suite.sentences, text, UNKNOWN_ID)
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
    if words is None:
        return found
    chosen = suite.known & (words[0][:, 0] >= 0)
    sums = []
    for at, spans in ((suite.good, words[0]), (suite.bad, words[1])):
        begin, end = starts[at[chosen], None].T + spans[chosen].T
        sums.append(before[end] - before[begin])
    of_words = np.full(len(found), np.nan)
    of_words[chosen] = sums[0] - sums[1]
    return np.column_stack([found, of_words])


def is_tie(margins: np.ndarray) -> np.ndarray:
    """Where both sentences are equally likely."""
    return np.abs(margins) <= TIE


def credit(margins: np.ndarray) -> np.ndarray:
    """1 where the right sentence is likelier, 0 where the wrong one is, one half for a tie.

    NaN where a pair could not be judged.
    """
    return np.where(np.isnan(margins), np.nan, np.where(is_tie(margins), 0.5, margins > 0))


def agreement_figures(suite: Suite, margins: np.ndarray) -> dict[str, float]:
    """Share of pairs judged rightly, in each construction and as the mean over constructions.

    Ties count one half, and there are as many as `ties` says.
    """
    figures = {
        "pairs": float(len(suite.known)),
        "pairs with unknown words": float((~suite.known).sum()),
    }
    for accuracy, ties, column in ACCURACY:
        judged, shares = margins[:, column], []
        figures[ties] = float(is_tie(judged).sum())
        for name, chosen in _constructions(suite):
            if (known := chosen & suite.known).any():
                shares.append(float(credit(judged[known]).mean()))
                figures[f"{accuracy}: {name}"] = shares[-1]
                figures[f"{ties}: {name}"] = float(is_tie(judged[known]).sum())
        if shares:
            figures[accuracy] = float(np.mean(shares))
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

    `right` may hold halves, those of ties. The interval takes pairs for independent draws; those
    of a suite made from templates are not.
    """
    share, spread = right / pairs, Z**2 / pairs
    half = Z * np.sqrt(share * (1 - share) / pairs + spread / (4 * pairs))
    return (share + spread / 2 - half) / (1 + spread), (share + spread / 2 + half) / (1 + spread)
