"""What the lexicon says of every word: few sets of readings, each kept once, and lemmas.

A lemma is kept as what it shares with the form, and the rest. A word's set says all but lemmas.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accord.models.common import ranges
from accord.models.common.checks import check_range
from accord.models.common.files.arrays import load_arrays
from accord.pipeline.sharing.compact.forms import Forms, common_prefix, narrow
from accord.pipeline.sharing.compact.words import Words

if TYPE_CHECKING:
    import pandas as pd

READINGS, LEMMAS = "readings.npz", "lemmas.npz"
TEXTS = ("upos", "feats", "source")
NAMES = (*TEXTS, "weight", "lengths", "reading")


def encode(analyses: "pd.DataFrame", words: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The distinct readings and the sets that they make; and which set each word has, by id."""
    rows = list(zip(*(analyses[name] for name in (*TEXTS, "weight")), strict=True))
    reading = {row: number for number, row in enumerate(dict.fromkeys(rows))}
    numbers = [reading[row] for row in rows]
    starts = np.searchsorted(analyses["word"].to_numpy(), np.arange(words + 1)).tolist()
    sets: dict[tuple[int, ...], int] = {}
    of_word = [
        sets.setdefault(tuple(numbers[start:end]), len(sets)) for start, end in pairwise(starts)
    ]
    columns = dict(zip((*TEXTS, "weight"), zip(*reading, strict=True), strict=True))
    arrays = {name: np.array(columns[name], str) for name in TEXTS}
    arrays["weight"] = np.array(columns["weight"], np.float64)
    arrays["lengths"] = narrow(np.array([len(each) for each in sets]))
    arrays["reading"] = narrow(np.array([number for each in sets for number in each]))
    return arrays, np.array(of_word)


def encode_lemmas(analyses: "pd.DataFrame", words: Words) -> dict[str, np.ndarray]:
    """In the order of the sorted forms: what each lemma shares with its form, and the rest."""
    place = words.place[analyses["word"].to_numpy()]
    order = np.argsort(place, kind="stable")
    forms = [form.encode() for form in words.forms]
    shared, rests = [], []
    for at, lemma in zip(place[order], analyses["lemma"].to_numpy(object)[order], strict=True):
        letters = lemma.encode()
        shared.append(common_prefix(forms[at], letters))
        rests.append(letters[shared[-1] :])
    return {
        "shared": narrow(np.array(shared)),
        "length": narrow(np.array([len(rest) for rest in rests])),
        "letters": np.frombuffer(b"".join(rests), np.uint8),
    }


class Readings:
    """The readings of a folder, decoded when they are asked for."""

    def __init__(self, folder: Path, words: Words):
        self.folder, self.words = folder, words
        self.distinct = load_arrays(folder / READINGS, NAMES)
        self.sizes = self.distinct["lengths"].astype(np.int64)
        self.starts = np.cumsum(self.sizes) - self.sizes
        where = f"{folder / READINGS}: "
        check_range(f"{where}reading", "readings", self.distinct["reading"], 0, len(self))
        check_range(f"{where}sets", "sets", words.columns["readings"], 0, len(self.sizes))
        if self.sizes.sum() != len(self.distinct["reading"]):
            raise ValueError(f"{where}expected sets of {self.sizes.sum():,} readings in all")

    def __len__(self) -> int:
        """How many distinct ones there are."""
        return min(len(self.distinct[name]) for name in (*TEXTS, "weight"))

    def of(self, place: int) -> list[tuple[str, str, float, str]]:
        """Those of the form in a place of the sorted list: upos, feats, weight, source."""
        number = self.words.columns["readings"][place]
        chosen = self.distinct["reading"][self.starts[number] :][: self.sizes[number]]
        columns = ("upos", "feats", "weight", "source")
        return list(zip(*(self.distinct[name][chosen].tolist() for name in columns), strict=True))

    def table(self, columns: Sequence[str]) -> "pd.DataFrame":
        """A row for each analysis of each word, by id: the columns of `analyses.parquet`."""
        import pandas as pd  # here, as scoring needs no tables

        of_word = self.words.column("readings")
        sizes = self.sizes[of_word]
        reading = self.distinct["reading"][ranges.in_a_row(self.starts[of_word], sizes)]
        table = {"word": np.repeat(np.arange(len(sizes)), sizes)}
        for name in TEXTS:
            kinds, number = np.unique(self.distinct[name], return_inverse=True)
            table[name] = pd.Categorical.from_codes(number[reading], kinds.astype(object))
        table["weight"] = self.distinct["weight"][reading]
        if "lemma" in columns:
            table["lemma"] = self._lemmas(sizes)
        return pd.DataFrame({name: table[name] for name in columns})

    def _lemmas(self, sizes: np.ndarray) -> np.ndarray:
        arrays = load_arrays(self.folder / LEMMAS, Forms.NAMES)
        in_order = self.sizes[self.words.columns["readings"]]  # of the sorted forms
        place = np.repeat(np.arange(len(in_order)), in_order).tolist()
        forms, letters = [form.encode() for form in self.words.forms], arrays["letters"].tobytes()
        ends = np.cumsum(arrays["length"], dtype=np.int64)
        if not len(ends) == len(arrays["shared"]) == len(place) or ends[-1:].sum() != len(letters):
            raise ValueError(f"{self.folder / LEMMAS}: expected a lemma of every reading")
        starts = (ends - arrays["length"]).tolist()
        lemmas = [
            (forms[at][:shared] + letters[start:end]).decode(errors="replace")
            for at, shared, start, end in zip(
                place, arrays["shared"].tolist(), starts, ends.tolist(), strict=True
            )
        ]
        first = (np.cumsum(in_order) - in_order)[self.words.place]
        return np.array(lemmas, dtype=object)[ranges.in_a_row(first, sizes)]
