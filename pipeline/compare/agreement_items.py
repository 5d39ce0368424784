"""What an agreement suite comes to beside its tables: sums by every score, and pair by pair."""

import numpy as np
import pandas as pd

from accord.pipeline.compare.agree import Judged, accuracy
from accord.pipeline.evaluation.agreement import SCORINGS
from accord.pipeline.evaluation.critical_region import regions
from accord.pipeline.evaluation.suite import pair_table, read_suite


def summary(asked: dict[str, Judged], rows: pd.Series) -> pd.DataFrame:
    """By every scoring, each model's share over all pairs, its mean over groups, median margin."""
    found = []
    for scoring, name in enumerate(SCORINGS):
        shares = accuracy(asked, rows, scoring)
        for model, (suite, margin) in asked.items():
            own, judged = shares[shares["model"] == model], margin[suite.known, scoring]
            mean = (own["share"] * own["pairs"]).sum() / max(own["pairs"].sum(), 1)
            figures = mean, own["share"].mean(), np.median(judged) if len(judged) else np.nan
            found.append((name, model, *("–" if x != x else f"{x:.3f}" for x in figures)))
    columns = ["score", "model", "all pairs", "mean of the rows", "median margin, nats"]
    return pd.DataFrame(found, columns=columns)


def items(asked: dict[str, Judged], suite: str) -> pd.DataFrame:
    """A row for each model and pair, with what the suite says of it and its margins in nats."""
    table, pairs = pair_table(suite), read_suite(suite)
    texts = pd.DataFrame(pairs)[["good", "bad"]]
    parts = []
    for model, (_, margin) in asked.items():
        own = pd.DataFrame(margin, columns=SCORINGS)
        parts.append(pd.concat([table, texts, own], axis=1).assign(model=model))
    found = pd.concat(parts, ignore_index=True)
    found.insert(0, "model", found.pop("model"))
    return found


def telling(asked: dict[str, Judged]) -> list[int]:
    """The scorings that say more than those before them, of the pairs that some model judged."""
    shown = {0, 1, 4}
    for suite, _ in asked.values():
        good, bad = suite.good[suite.known], suite.bad[suite.known]
        if (suite.lengths[good] != suite.lengths[bad]).any():
            shown.add(2)
        found, first = regions(suite), suite.critical
        if ((found.good_end - first > 1) | (found.bad_end - first > 1))[suite.known].any():
            shown.add(3)
    return sorted(shown)


def of_different_lengths(asked: dict[str, Judged]) -> int:
    """How many pairs have a sentence that is longer than the other."""
    return max(
        int((suite.lengths[suite.good] != suite.lengths[suite.bad])[suite.known].sum())
        for suite, _ in asked.values()
    )
