"""Paths named by their last parts, as few as tell them apart."""

from collections import Counter
from collections.abc import Sequence


def short_names(paths: Sequence[tuple[str, ...]], least: int = 1) -> list[str]:
    """For each of different paths at least so many of its last parts, and as many as it needs."""
    endings = [
        ["/".join(path[-length:]) for length in range(least, len(path) + 1)] for path in paths
    ]
    count = Counter(name for of_path in endings for name in of_path)
    return [next(name for name in of_path if count[name] == 1) for of_path in endings]
