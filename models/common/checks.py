"""Refusals that say which values are wrong, where, and what was expected."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


def expect(key: str, is_sound: bool, expected: str, found: Any) -> None:
    """Refuse a value that cannot be meant, by the key that it was given for."""
    if not is_sound:
        raise ValueError(f"{key}: expected {expected}, got {found}")


def expect_at_least(least: int, params: Any, *keys: str) -> None:
    """Refuse smaller numbers in some fields of a dataclass; None, where it is a value, is none."""
    for key in keys:
        value = getattr(params, key)
        expect(key, value is None or value >= least, f"{least} or more", value)


def nearest(name: str, valid: Iterable[str], most: int = 40) -> str:
    """The end of an error: the nearest valid name, or where none is near the first `most`."""
    names = list(valid)
    if close := get_close_matches(name, names, n=1, cutoff=0.5):
        return f"; the nearest is '{close[0]}'"
    if not most:
        return ""
    return f"; there are {', '.join(names[:most])}{' and more' if len(names) > most else ''}"


def check_range(
    name: str,
    kind: str,
    numbers: "np.ndarray",
    least: int,
    limit: int,
    error: type[Exception] = ValueError,
) -> None:
    """Refuse numbers of things, `kind`, of which there are none with that number."""
    wrong = (numbers < least) | (numbers >= limit)
    if wrong.any():
        at = tuple(int(positions[0]) for positions in wrong.nonzero())
        raise error(
            f"{name}: expected {kind} from {least} to under {limit}; "
            f"got {numbers[at]} at index {at if len(at) > 1 else at[0]}"
        )


def check_words(name: str, words: "Tensor", limit: int, least: int = 0) -> None:
    """Refuse ids that are no word's. On a GPU this would wait for it at each step: only on CPU."""
    if words.device.type == "cpu":
        check_range(name, "word ids", words.numpy(), least, limit, IndexError)


def check_finite(name: str, numbers: "np.ndarray") -> None:
    """Refuse results that are no numbers or have no end: such a figure would say nothing."""
    import numpy as np  # here, as a configuration is checked without it

    wrong = ~np.isfinite(numbers)
    if wrong.any():
        raise FloatingPointError(
            f"{name} is not finite: {numbers[wrong][0]} in {wrong.sum():,} of {wrong.size:,} places"
        )
