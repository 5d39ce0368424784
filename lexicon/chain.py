"""Several lexicons as one: the first that knows a form answers, or all of them together."""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from lexicon.analysis import Analysis, Lexicon, absent, moved, stack


class Chain(Lexicon):
    """`fallback`: each lexicon is asked what those before it do not know. `union`: all are asked.

    A guesser, if there is one, is asked last and only what the lexicons do not know in any case.
    """

    def __init__(
        self,
        lexicons: Sequence[Lexicon],
        join: Literal["fallback", "union"] = "fallback",
        guesser: Lexicon | None = None,
    ):
        if join not in ("fallback", "union"):
            raise ValueError(f"join is 'fallback' or 'union', not {join!r}")
        self.lexicons = tuple(lexicons)
        self.join = join
        self.guesser = guesser
        parts = self.lexicons if guesser is None else (*self.lexicons, guesser)
        self.name = "+".join(part.name for part in parts)
        self.licence = ", ".join(dict.fromkeys(part.licence for part in parts))
        self.skipped = tuple(each for part in parts for each in part.skipped)

    def __iter__(self) -> Iterator[str]:
        seen = set()
        for lexicon in self.lexicons:
            yield from (form for form in lexicon if form not in seen)
            seen.update(lexicon)

    def __len__(self) -> int:
        return len(set().union(*self.lexicons))

    def find(self, forms: np.ndarray) -> pd.DataFrame:
        return self._fallback(forms) if self.join == "fallback" else self._union(forms)

    def _fallback(self, forms: np.ndarray) -> pd.DataFrame:
        unknown = np.arange(len(forms))
        parts = []
        for lexicon in self.lexicons:
            found = lexicon.find(forms[unknown])
            parts.append(moved(found, unknown))
            unknown = unknown[absent(found, len(unknown))]
        return stack(parts)

    def _union(self, forms: np.ndarray) -> pd.DataFrame:
        rows = stack([lexicon.find(forms) for lexicon in self.lexicons])
        return rows.drop_duplicates(["word", "lemma", "upos", "feats"], ignore_index=True)

    def exact(self, form: str) -> tuple[Analysis, ...]:
        found = (lexicon.exact(form) for lexicon in self.lexicons)
        if self.join == "fallback":
            return next(filter(None, found), ())
        return tuple(dict.fromkeys(each for analyses in found for each in analyses))

    def analyses(self, form: str) -> tuple[Analysis, ...]:
        known = super().analyses(form)
        return known if known or self.guesser is None else self.guesser.analyses(form)

    def lookup(self, forms: Sequence[str]) -> pd.DataFrame:
        known = super().lookup(forms)
        if self.guesser is None:
            return known
        forms = np.asarray(forms, dtype=object)
        unknown = absent(known, len(forms))
        return stack([known, moved(self.guesser.lookup(forms[unknown]), unknown)])
