"""Checks whose errors say which values are wrong, where, and what was expected."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from accord.errors import AccordError, NumericalError

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


def expect(key: str, is_sound: bool, expected: str, value: Any) -> None:
    """Reject an invalid value; the error names its key."""
    if not is_sound:
        raise AccordError(f"{key}: expected {expected}, got {value}")


def nearest(name: str, valid: Iterable[str], most: int = 40) -> str:
    """Return the end of an error: the nearest valid name, or the first `most` names without one."""
    names = list(valid)
    if close := get_close_matches(name, names, n=1, cutoff=0.5):
        return f"; the nearest is '{close[0]}'"
    if not most:
        return ""
    if not names:
        return "; there is none"
    return f"; there are {', '.join(names[:most])}{' and more' if len(names) > most else ''}"


def check_each(
    name: str,
    is_sound: "np.ndarray",
    expected: str,
    numbers: "np.ndarray",
    error: type[Exception] = AccordError,
) -> None:
    """Reject an array with an invalid value; the error names the first one and its index."""
    if not is_sound.all():
        at = tuple(int(positions[0]) for positions in (~is_sound).nonzero())
        index = at if len(at) > 1 else at[0]
        raise error(f"{name}: expected {expected}, got {numbers[at]} at index {index}")


def check_range(
    name: str,
    kind: str,
    numbers: "np.ndarray",
    least: int,
    limit: int,
    error: type[Exception] = AccordError,
) -> None:
    """Reject ids of a `kind` that are out of range."""
    is_sound = (numbers >= least) & (numbers < limit)
    check_each(name, is_sound, f"{kind} from {least} to under {limit}", numbers, error)


def check_words(name: str, words: "Tensor", limit: int, least: int = 0) -> None:
    """Reject ids that are out of range, on a CPU only: on a GPU each step would have to wait."""
    if words.device.type == "cpu":
        check_range(name, "word ids", words.numpy(), least, limit, IndexError)


def check_finite(name: str, numbers: "np.ndarray") -> None:
    """Reject results that are NaN or infinite."""
    import numpy as np  # here, as a configuration is checked without it

    if len(wrong := numbers[~np.isfinite(numbers)]):
        places = f"{len(wrong):,} of {numbers.size:,} places"
        raise NumericalError(f"{name} is not finite: {wrong[0]} in {places}")
