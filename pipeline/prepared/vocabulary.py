"""From words to ids, as a vocabulary numbers them."""

from collections.abc import Sequence
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accord.pipeline.prepared.special_words import END, UNKNOWN, UNKNOWN_ID, is_special, is_unknown

if TYPE_CHECKING:
    from accord.pipeline.prepared.unknown_words import Classes

STARTS = {END[0], UNKNOWN[0]}  # few of hundreds of thousands of words have one, so few are asked


class Vocabulary:
    """The words that stage `analyse` found to be known, and the classes of all others.

    Those of a closed vocabulary that only corpus.pretraining holds have ids, by which that text is
    encoded; a model has no mass for them after it, and they are known no more.
    """

    def __init__(self, analysed: Path, with_pretraining: bool = False):
        import pandas as pd  # here, as a model's small form keeps its words otherwise

        self.folder = analysed
        types = pd.read_parquet(analysed / "types.parquet", columns=["form", "share"])
        self.forms = types["form"].tolist()
        self.known = dict(zip(self.forms, range(len(self.forms)), strict=True))
        if not with_pretraining:
            for form in types["form"][types["share"] == 0]:
                del self.known[form]
        for form in [form for form in self.forms if form[:1] in STARTS and is_special(form)]:
            del self.known[form]
        self.unknown = list(takewhile(is_unknown, self.forms[UNKNOWN_ID:]))

    @property
    def is_open(self) -> bool:
        return bool(self.unknown)

    def knows(self, words: Sequence[str]) -> bool:
        return all(word in self.known for word in words)

    def ids(self, words: Sequence[str]) -> np.ndarray:
        """The id of each word, or of the unknown word that stands for it."""
        ids = np.array([self.known.get(word, -1) for word in words], dtype=np.int64)
        lacking = np.flatnonzero(ids < 0)
        if len(lacking):
            others = [words[place] for place in lacking]
            if not self.is_open:
                raise ValueError(f"'{others[0]}' is not known to this closed vocabulary")
            ids[lacking] = self._classes.ids(others)
        return ids

    @cached_property
    def _classes(self) -> "Classes":
        from accord.pipeline.prepared.saved_chain import load_chain
        from accord.pipeline.prepared.unknown_words import Classes

        chain = load_chain(self.folder) if len(self.unknown) > 1 else None
        return Classes(self.unknown, chain)
