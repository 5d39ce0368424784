"""Models that differ in their seed alone are a family, shown as mean ± standard deviation."""

import re
from collections.abc import Iterable, Sequence

import numpy as np


def member(family: str, copy: int) -> str:
    """The name of a family's first, second… model."""
    return family if copy == 1 else f"{family}-seed{copy}"


def families(models: Iterable[str]) -> dict[str, list[str]]:
    """The models of each family, in order."""
    found: dict[str, list[str]] = {}
    for model in models:
        found.setdefault(re.sub(r"-seed\d+$", "", model), []).append(model)
    return found


def mean_and_spread(values: Sequence[float], digits: int) -> str:
    """The mean, and ± the standard deviation where there are several; a dash for nothing."""
    if not len(values):
        return "–"
    spread = f" ± {np.std(values, ddof=1):,.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):,.{digits}f}{spread}"
