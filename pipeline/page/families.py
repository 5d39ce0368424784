"""What can be switched off: features by their family, `Number` for `Number=Plur×pos=NOUN`."""

import re
from collections.abc import Iterable, Sequence

from accord.pipeline.prepared.special_words import NOT_TOP

CROSSED = re.compile(r"×(?=[A-Za-z]+=)")  # no word's own ×
MEANING = "meaning"  # the dimensions of a vector


def families(feature: str) -> set[str]:
    """The families of a feature: several of one that is crossed."""
    if feature == NOT_TOP:
        return {"form"}
    if feature.startswith("vector["):
        return {MEANING}
    return {part.partition("=")[0] for part in CROSSED.split(feature)}


def members(names: Sequence[str], off: Iterable[str]) -> list[int]:
    """The numbers of all features of some families; a family that no feature has is refused."""
    off = set(off)
    known = all_families(names)
    if unknown := sorted(off.difference(known)):
        raise ValueError(
            f"expected features of {', '.join(known)} to switch off; got {unknown[0]:.80}"
        )
    return [number for number, name in enumerate(names) if families(name) & off]


def all_families(names: Iterable[str]) -> list[str]:
    """Every family, in the order in which features name them."""
    return list(dict.fromkeys(each for name in names for each in sorted(families(name))))
