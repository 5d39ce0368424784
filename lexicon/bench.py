"""How fast a lexicon is: parsing its text, opening its index, answering."""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

from lexicon.reading import LexiconError
from lexicon.registry import find
from lexicon.text import TextLexicon


class Speed(NamedTuple):
    """Seconds, and forms answered a second."""

    name: str
    forms: int
    parse_seconds: float
    open_seconds: float
    lookup_per_second: float
    analyses_per_second: float


def measure(name: str, *, folder: Callable[[str], Path]) -> Speed:
    """Reads a lexicon's text into a cache of its own, then asks all its forms in random order.

    `analyses` is asked one form at a time, 20,000 distinct ones, none asked before.
    """
    maker = find(name)
    if not isinstance(maker, TextLexicon):
        raise LexiconError(f"lexicon {name!r} has no file to be read: expected one that has")
    path = maker.path(folder)
    with tempfile.TemporaryDirectory() as cache, patch.dict(os.environ, XDG_CACHE_HOME=cache):
        parse_seconds, _ = timed(lambda: maker.open(path))
        open_seconds, lexicon = timed(lambda: maker.open(path))
        forms = np.array(list(lexicon), dtype=object)
        np.random.default_rng(0).shuffle(forms)
        lookup_seconds, _ = timed(lambda: lexicon.lookup(forms))
        few = forms[:20_000].tolist()
        one_by_one, _ = timed(lambda: [lexicon.analyses(form) for form in few])
    return Speed(
        name,
        len(forms),
        parse_seconds,
        open_seconds,
        len(forms) / lookup_seconds,
        len(few) / one_by_one,
    )


def timed(work: Callable):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result
