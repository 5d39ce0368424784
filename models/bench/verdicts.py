"""What the design promises of the cost of output layers, and whether it was measured so."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from models.bench.output import DOCUMENTED, FEW, LARGE, MANY, SMALL, VECTORS, Cost

PROMISES = (  # what, of which output and words to which, how many times, whether at least
    ("log-linear ÷ plain softmax over its signatures", FEW, ("floor", SMALL), 1.05, False),
    (f"log-linear at {LARGE:,} words ÷ at {SMALL:,}", MANY, FEW, 1.10, False),
    (f"softmax ÷ log-linear, {SMALL:,} words", ("softmax", SMALL), FEW, 4, True),
    (f"{DOCUMENTED} ÷ log-linear, {LARGE:,} words", (DOCUMENTED, LARGE), MANY, 12, True),
    (f"adaptive ÷ log-linear, {LARGE:,} words", ("adaptive", LARGE), MANY, 1, True),
    (f"softmax ÷ {VECTORS}, {SMALL:,} words", ("softmax", SMALL), (VECTORS, SMALL), 1, True),
)


@dataclass(frozen=True)
class Verdict:
    """How two costs compare, and how they must: at most, or at least, `limit` times."""

    what: str
    ratio: float
    limit: float
    at_least: bool

    @property
    def reached(self) -> bool:
        return self.ratio >= self.limit if self.at_least else self.ratio <= self.limit

    def __str__(self) -> str:
        sign, mark = "≥" if self.at_least else "≤", "yes" if self.reached else "NO"
        return f"{self.ratio:8.2f} ×  {sign} {self.limit:<5} {mark:4} {self.what}"


def verdicts(costs: Sequence[Cost]) -> list[Verdict]:
    """What the design promises, as measured, of the costs at hand. They are of one device."""
    cost = {(cost.setting.output, cost.setting.words): cost for cost in costs}
    memory = cost[MANY].peak_bytes / cost[FEW].peak_bytes
    return [
        *(
            Verdict(what, _times(cost[above], cost[below]), limit, at_least)
            for what, above, below, limit, at_least in PROMISES
            if {above, below} <= cost.keys()
        ),
        Verdict(f"memory of log-linear at {LARGE:,} words ÷ at {SMALL:,}", memory, 1.3, False),
    ]


def _times(above: Cost, below: Cost) -> float:
    """How many times longer a step takes, by the median of the rounds."""
    pairs = zip(above.seconds, below.seconds, strict=True)
    return statistics.median(one / other for one, other in pairs)
