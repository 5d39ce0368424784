"""How well planted errors are found: precision and recall of corrections.

Each pair of a suite is two texts: in the wrong one an error is to be repaired, in the right one
nothing is. A text's best suggestion counts if it gains more than the margin: it is right if it
makes the wrong sentence the right one, and a false alarm otherwise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from accord.pipeline.confusions.correct import Corrector
from accord.pipeline.evaluation.pair import Pair, words_of
from accord.pipeline.inference.scorer import Scorer

BETA = 0.5  # a checker's false alarms weigh more than what it misses


@dataclass(frozen=True, eq=False)
class Judged:
    """The best suggestion of each text: what it gains (−inf for none), and whether it is right."""

    construction: np.ndarray  # of each pair
    wrong_gain: np.ndarray
    repaired: np.ndarray
    right_gain: np.ndarray

    @classmethod
    def of(cls, pairs: Sequence[Pair], corrector: Corrector) -> "Judged":
        bad, good = ([words_of(getattr(each, side)) for each in pairs] for side in ("bad", "good"))
        found = corrector.best([*bad, *good])
        gains = np.array([each.gain if each else -np.inf for each in found])
        repairs = [
            bool(each) and each.made(words) == right
            for words, right, each in zip(bad, good, found[: len(bad)], strict=True)
        ]
        construction = np.array([each.construction for each in pairs])
        wrong, right = np.split(gains, 2)
        return cls(construction, wrong, np.array(repairs), right)

    def figures(self, margin: float, construction: str | None = None) -> dict[str, float]:
        """Precision, recall and F at a margin, of all pairs or of one construction."""
        chosen = self.construction == construction if construction else slice(None)
        wrong, right = self.wrong_gain[chosen] > margin, self.right_gain[chosen] > margin
        found = int((wrong & self.repaired[chosen]).sum())
        said, planted = int(wrong.sum() + right.sum()), len(wrong)
        f = (1 + BETA**2) * found / (said + BETA**2 * planted)
        return {
            "planted": planted,
            "precision": found / said if said else float("nan"),
            "recall": found / planted,
            "F0.5": f,
            "false alarms in right sentences": float(right.mean()),
        }

    def tuned(self) -> float:
        """The margin with the greatest F; it is one of the gains, or nothing."""
        gains = np.concatenate([self.wrong_gain, self.right_gain])
        margins = [0.0, *np.unique(gains[gains > 0])]
        return float(max(margins, key=lambda margin: self.figures(margin)["F0.5"]))

    def table(self, margin: float) -> pd.DataFrame:
        """A row for each construction, and one for all."""
        rows = {name: self.figures(margin, name) for name in np.unique(self.construction)}
        return pd.DataFrame.from_dict(rows | {"all": self.figures(margin)}, orient="index")


def readable(pairs: Sequence[Pair], scorer: Scorer) -> list[Pair]:
    """The pairs whose words a model knows; one of an open vocabulary reads them all."""
    if scorer.is_open:
        return list(pairs)
    knows = scorer.vocabulary.knows
    found = [
        each
        for each in pairs
        if all(knows(scorer.cased(words_of(text))) for text in (each.good, each.bad))
    ]
    if not found:
        raise ValueError("expected pairs of words that the model knows, found none")
    return found
