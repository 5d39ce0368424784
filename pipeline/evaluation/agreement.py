"""Agreement: does a model find the right sentence of a minimal pair likelier than the wrong one?

Asked of the whole sentence, its end included, also per word; of the *critical word*, the first that
differs, after the words that both sentences have in common; of the *critical region*, all from the
first to the last word that differs; and of the first word behind it, whose context alone differs.

Needs torch, numpy and safetensors only, as it also runs where a model was trained.
"""

import time
from pathlib import Path

import numpy as np

from accord.models.common.protocol import Model
from accord.models.spelling.open_vocabulary import Forms
from accord.models.spelling.strings import Spelling
from accord.pipeline.evaluation.critical_region import regions
from accord.pipeline.evaluation.measure import score
from accord.pipeline.prepared.encoded_forms import read_suite
from accord.pipeline.prepared.suite_ids import Suite

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
    suite, text = read_suite(encoded, name)
    start = time.monotonic()
    found = margins(model, spelling, suite, text)
    rate = len(found) / (time.monotonic() - start)
    return agreement(suite, found) | {"pairs judged per second": rate}, found


def margins(model: Model, spelling: Spelling | None, suite: Suite, text: Forms) -> np.ndarray:
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


def agreement(suite: Suite, margins: np.ndarray) -> dict[str, float]:
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
