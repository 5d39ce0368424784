"""How fast a lexicon is: parsing its text, opening its index, answering."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lexicon.registry import find


class Speed(NamedTuple):
    """Seconds, and forms answered a second."""

    name: str
    forms: int
    parse_seconds: float
    open_seconds: float
    lookup_per_second: float
    analyses_per_second: float


def measure(name: str, *, folder: Callable[[str], Path], seed: int = 0) -> Speed:
    """Reads a lexicon's text into a cache of its own, then asks all its forms in random order.

    `analyses` is asked one form at a time, 20,000 distinct ones, none asked before.
    """
    maker = find(name)
    path = maker.path(folder)
    with tempfile.TemporaryDirectory() as cache, environment("XDG_CACHE_HOME", cache):
        parse_seconds, _ = timed(lambda: maker.open(path))
        open_seconds, lexicon = timed(lambda: maker.open(path))
        forms = np.array(list(lexicon), dtype=object)
        np.random.default_rng(seed).shuffle(forms)
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


class environment:
    """A variable of the environment, set for a while."""

    def __init__(self, name: str, value: str):
        self.name, self.value = name, value

    def __enter__(self):
        self.before = os.environ.get(self.name)
        os.environ[self.name] = self.value

    def __exit__(self, *_):
        if self.before is None:
            del os.environ[self.name]
        else:
            os.environ[self.name] = self.before
