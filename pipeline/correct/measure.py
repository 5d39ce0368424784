"""How well a checker does, and the costs with which it does best.

Each pair of a suite is two texts: in the wrong one errors are to be repaired, in the right one
nothing is. A change is right if it is one of those that turn the wrong text into the right one.

    precision = right changes / all changes made,    recall = right changes / errors
    F0.5 = 1.25·P·R / (0.25·P + R)

F0.5 weighs precision more: a false alarm costs a writer more than an error that stays.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

import numpy as np
import pandas as pd

from accord.errors import AccordError
from accord.pipeline.ask.scorer import Scorer
from accord.pipeline.base.messages import track
from accord.pipeline.correct.candidates import KINDS, Change, Prior, changed
from accord.pipeline.correct.correct import Corrector
from accord.pipeline.correct.search import Meant, Search
from accord.pipeline.evaluation.suites import Pair, words_of

BETA = 0.5
# Costs that are tried, in nats. A kind may cost less than other changes do.
GRID = {kind: np.arange(-3.0, 8.25, 0.25) for kind in KINDS} | {
    "change": np.arange(1.0, 8.25, 0.25),
    "frequency": np.arange(0.0, 1.05, 0.1),
}
STARTS = (2.0, 4.0, 6.0)  # of the cost of every change: one alone may end in a worse place
THOUSAND = 1000
ALARMS = "false alarms per 1,000"  # right texts that are changed
LOOSE = 0.3  # share of the costs in the search whose results are tuned on
WIDE = 24  # beginnings that it keeps
RIGHT = "no error"  # the construction of right texts

Made = tuple[int, int, tuple[str, ...]]  # start, end and the new words of a change


def between(words: Sequence[str], others: Sequence[str]) -> set[Made]:
    """The changes from one sentence to another, word by word where as many are replaced."""
    found: set[Made] = set()
    for name, a, b, c, d in SequenceMatcher(None, words, others, autojunk=False).get_opcodes():
        if name == "replace" and b - a == d - c:
            found |= {(a + n, a + n + 1, (others[c + n],)) for n in range(b - a)}
        elif name != "equal":
            found.add((a, b, tuple(others[c:d])))
    return found


class Judged(NamedTuple):
    """One text after its correction."""

    construction: str
    errors: int
    made: int  # changes
    right: int  # of these

    @classmethod
    def of(
        cls, construction: str, text: Sequence[str], meant: Sequence[str], result: Sequence[str]
    ) -> "Judged":
        errors, made = between(text, meant), between(text, result)
        return cls(construction, len(errors), len(made), len(errors & made))

    @property
    def is_exact(self) -> bool:
        return self.errors == self.made == self.right


def texts_of(pairs: Iterable[Pair]) -> list[tuple[str, list[str], list[str]]]:
    """The construction, the words as written and as meant: wrong texts, then right ones."""
    found = [(each.construction, words_of(each.bad), words_of(each.good)) for each in pairs]
    return found + [(RIGHT, meant, meant) for _, _, meant in found]


def figures(judged: Sequence[Judged]) -> dict[str, float]:
    """Precision, recall, F0.5, exact sentences and false alarms of some texts."""
    errors, made, right = (sum(getattr(e, n) for e in judged) for n in ("errors", "made", "right"))
    correct = [each for each in judged if not each.errors]
    alarms = sum(each.made > 0 for each in correct)
    return {
        "texts": len(judged),
        "errors": errors,
        "precision": right / made if made else float("nan"),
        "recall": right / errors if errors else float("nan"),
        "F0.5": f_score(errors, made, right) if errors else float("nan"),
        "exact": sum(each.is_exact for each in judged) / len(judged),
        ALARMS: THOUSAND * alarms / len(correct) if correct else float("nan"),
    }


def f_score(errors: float, made: float, right: float) -> float:
    return float((1 + BETA**2) * right / (made + BETA**2 * errors)) if made + errors else 1.0


def table(judged: Sequence[Judged]) -> pd.DataFrame:
    """A row for each construction, one for right texts, and one for all."""
    names = sorted({each.construction for each in judged} - {RIGHT})
    groups = {name: [e for e in judged if e.construction == name] for name in (*names, RIGHT)}
    rows = {name: figures(of) for name, of in groups.items() if of} | {"all": figures(judged)}
    return pd.DataFrame.from_dict(rows, orient="index")


def shown_table(judged: Sequence[Judged]) -> pd.DataFrame:
    """Return the table as text: shares in per cent, nothing where a share is undefined."""
    figures_of = table(judged)
    shown = {
        name: figures_of[name].map("{:.1%}".format)
        for name in ("precision", "recall", "F0.5", "exact")
    }
    shown[ALARMS] = figures_of[ALARMS].map("{:.0f}".format)
    whole = figures_of.astype({"texts": int, "errors": int}).assign(**shown)
    return whole.replace("nan%", "").replace("nan", "").rename_axis("text").reset_index()


@dataclass(frozen=True, eq=False)
class Lists:
    """Sentences that a search found for each text, with what decides between them.

    A row for each text, padded with log p = −inf.
    """

    log_p: np.ndarray  # (T × N)
    kinds: np.ndarray  # how many changes of each kind (T × N × K)
    made: np.ndarray  # changes (T × N)
    right: np.ndarray  # of these (T × N)
    errors: np.ndarray  # in each text (T)

    @classmethod
    def of(
        cls, texts: Sequence[tuple[str, list[str], list[str]]], found: Sequence[Sequence[Meant]]
    ) -> "Lists":
        shape = len(texts), max(map(len, found))
        log_p, made, right = np.full(shape, -np.inf), np.zeros(shape), np.zeros(shape)
        kinds, errors = np.zeros((*shape, len(KINDS))), np.zeros(len(texts))
        for row, ((_, words, meant), of_text) in enumerate(zip(texts, found, strict=True)):
            for column, each in enumerate(of_text):
                judged = Judged.of("", words, meant, changed(words, each.changes))
                log_p[row, column], errors[row] = each.log_p, judged.errors
                made[row, column], right[row, column] = judged.made, judged.right
                kinds[row, column] = counts(each.changes)
        return cls(log_p, kinds, made, right, errors)

    def f_score(self, costs: np.ndarray) -> float:
        """F0.5 if the best of each list under these costs is taken; equals: the first."""
        chosen = (self.log_p - self.kinds @ costs).argmax(axis=1)
        rows = np.arange(len(chosen))
        made, right = self.made[rows, chosen].sum(), self.right[rows, chosen].sum()
        return f_score(self.errors.sum(), made, right)

    def tuned(self, prior: Prior) -> Prior:
        """The costs with the greatest F0.5 that are found from a prior on, one after another."""
        starts = [{**prior.costs, "change": cost} for cost in STARTS]
        found = [self._climbed(np.array([costs[kind] for kind in KINDS])) for costs in starts]
        best = max(found, key=self.f_score)
        return Prior(
            {kind: round(cost, 2) for kind, cost in zip(KINDS, best.tolist(), strict=True)}
        )

    def _climbed(self, costs: np.ndarray) -> np.ndarray:
        best = self.f_score(costs)
        while True:
            before = best
            for number, kind in enumerate(KINDS):
                for cost in GRID[kind].tolist():
                    tried = costs.copy()
                    tried[number] = cost
                    if (f := self.f_score(tried)) > best + 1e-9:
                        best, costs = f, tried
            if best == before:
                return costs


def counts(changes: Sequence[Change]) -> np.ndarray:
    """How many changes are of each kind, and how much more frequent the new words are."""
    found = {kind: sum(kind in each.kinds for each in changes) for kind in KINDS}
    found["frequency"] = sum(each.frequency for each in changes)
    return np.array([*found.values()], float)


def tuned(pairs: Sequence[Pair], corrector: Corrector) -> Prior:
    """The costs with which the corrector does best on pairs.

    The search is made once, with low costs; what it finds is ranked under others.
    """
    prior, texts, scorer = Prior(), texts_of(pairs), corrector.scorer
    loose = Prior({kind: LOOSE * cost for kind, cost in prior.costs.items()})
    found = []
    for _, words, _ in track(texts, "sentences to tune on", len(texts)):
        changes = corrector.candidates.of(words)
        found.append(Search(scorer, scorer.cased(words), changes, loose, WIDE).best())
    return Lists.of(texts, found).tuned(prior)


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
        raise AccordError("expected pairs of words that the model knows, found none")
    return found
