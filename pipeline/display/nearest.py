"""What a mistyped name may have meant."""

from collections.abc import Iterable
from difflib import get_close_matches

MOST = 40  # names that an error lists


def nearest(name: str, valid: Iterable[str]) -> str:
    """The end of an error: the nearest valid name, or what there is where none is near."""
    names = list(valid)
    if close := get_close_matches(name, names, n=1, cutoff=0.5):
        return f"; the nearest is '{close[0]}'"
    return f"; there are {', '.join(names[:MOST])}{' and more' if len(names) > MOST else ''}"
