"""The readings of a model's known words: those of a form, and the forms of a lemma.

In the compact encoding a word's set says all of its readings but the lemmas. A lemma is kept as
the number of letters that it shares with the form, and the rest. Only what is asked for is decoded.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from accord.errors import AccordError
from accord.models.common.arrays import load_arrays
from accord.models.common.checks import check_range
from accord.models.data import in_a_row
from accord.pipeline.model.compact_form import CompactWords, FrontCoded, common_prefix, narrow

if TYPE_CHECKING:
    import pandas as pd


class Reading(NamedTuple):
    """What a form may be; a lemma that was only guessed is empty."""

    lemma: str
    upos: str
    feats: str
    weight: float  # beside the other readings of the form
    source: str  # the lexicon


class Readings(Protocol):
    """The interface of both encodings."""

    def of_word(self, number: int) -> list[Reading]:
        """The readings of a word by its id, or of a class of unknown words."""

    def of_form(self, form: str) -> list[Reading]:
        """The readings of a known word; none of an unknown one."""

    def forms_of(self, lemma: str) -> list[str]:
        """The known words that may be a form of a lemma, sorted."""


class TabledReadings:
    """The readings of a table in the memory."""

    COLUMNS = ("word", *Reading._fields)

    def __init__(self, forms: Sequence[str], known: Mapping[str, int], table: "pd.DataFrame"):
        """`table` has the id of each word and its analyses, in the order of the ids."""
        self.forms, self.known, self.table = forms, known, table
        self.word = table["word"].to_numpy()
        self.lemma = table["lemma"].to_numpy(object).astype(str)
        self.by_lemma = np.argsort(self.lemma, kind="stable")

    def of_word(self, number: int) -> list[Reading]:
        rows = self.table.iloc[slice(*np.searchsorted(self.word, [number, number + 1]))]
        columns = (rows[name].tolist() for name in Reading._fields)
        return [Reading(*row) for row in zip(*columns, strict=True)]

    def of_form(self, form: str) -> list[Reading]:
        number = self.known.get(form)
        return [] if number is None else self.of_word(number)

    def forms_of(self, lemma: str) -> list[str]:
        ends = (
            np.searchsorted(self.lemma, lemma, side, sorter=self.by_lemma)
            for side in ("left", "right")
        )
        return sorted({self.forms[word] for word in self.word[self.by_lemma[slice(*ends)]]})


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


def encode_lemmas(analyses: "pd.DataFrame", words: CompactWords) -> dict[str, np.ndarray]:
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


class CompactReadings:
    """The readings of a folder, decoded when needed."""

    def __init__(self, folder: Path, words: CompactWords):
        self.folder, self.words = folder, words
        self.distinct = load_arrays(folder / READINGS, NAMES)
        self.sizes = self.distinct["lengths"].astype(np.int64)
        self.starts = np.cumsum(self.sizes) - self.sizes
        where = f"{folder / READINGS}: "
        check_range(f"{where}reading", "readings", self.distinct["reading"], 0, len(self))
        check_range(f"{where}sets", "sets", words.columns["readings"], 0, len(self.sizes))
        if self.sizes.sum() != len(self.distinct["reading"]):
            raise AccordError(f"{where}expected sets of {self.sizes.sum():,} readings in all")

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
        import pandas as pd  # here, as words are looked up one by one without tables

        of_word = self.words.column("readings")
        sizes = self.sizes[of_word]
        reading = self.distinct["reading"][in_a_row(self.starts[of_word], sizes)]
        table = {"word": np.repeat(np.arange(len(sizes)), sizes)}
        for name in TEXTS:
            kinds, number = np.unique(self.distinct[name], return_inverse=True)
            table[name] = pd.Categorical.from_codes(number[reading], kinds.astype(object))
        table["weight"] = self.distinct["weight"][reading]
        if "lemma" in columns:
            table["lemma"] = self._lemmas(sizes)
        return pd.DataFrame({name: table[name] for name in columns})

    def of_word(self, number: int) -> list[Reading]:
        return self._of_place(int(self.words.place[number]))

    def of_form(self, form: str) -> list[Reading]:
        place = self.words.forms.find(form)
        return [] if place < 0 else self._of_place(place)

    def _of_place(self, place: int) -> list[Reading]:
        lemmas = self.lemmas.of(place, self.words.forms[place])
        rows = zip(lemmas, self.of(place), strict=True)
        return [Reading(lemma, *of_row) for lemma, of_row in rows]

    def forms_of(self, lemma: str) -> list[str]:
        return [self.words.forms[place] for place in self.lemmas.places(lemma)]

    @cached_property
    def lemmas(self) -> "CompactLemmas":
        in_order = self.sizes[self.words.columns["readings"]]  # of the sorted forms
        return CompactLemmas(self.folder / LEMMAS, self.words.forms, in_order)

    def _lemmas(self, sizes: np.ndarray) -> np.ndarray:
        """The lemma of every analysis, by the ids of the words."""
        lemmas = self.lemmas
        first = lemmas.first[:-1][self.words.place]
        return np.array(lemmas.every(), dtype=object)[in_a_row(first, sizes)]


class CompactLemmas:
    """The lemmas of the sorted forms, a row for each reading."""

    def __init__(self, path: Path, forms: FrontCoded, sizes: np.ndarray):
        """`sizes`: how many readings each form has."""
        self.forms, self.first = forms, np.concatenate([[0], np.cumsum(sizes)])
        arrays = load_arrays(path, FrontCoded.NAMES)
        self.shared, self.length = arrays["shared"], arrays["length"]
        self.ends = np.cumsum(self.length, dtype=np.int64)
        self._bytes, self.letters = arrays["letters"], arrays["letters"].tobytes()
        rows = self.first[-1]
        if not len(self.ends) == len(self.shared) == rows or self.ends[-1:].sum() != len(
            self.letters
        ):
            raise AccordError(f"{path}: expected a lemma of every reading")

    def of(self, place: int, form: str) -> list[str]:
        """The lemmas of the form at a place."""
        letters, rows = form.encode(), range(*self.first[place : place + 2].tolist())
        return [
            (letters[: self.shared[row]] + self._rest(row)).decode("utf-8", "replace")
            for row in rows
        ]

    def every(self) -> list[str]:
        sizes = np.diff(self.first)
        letters = (
            form.encode()
            for form, size in zip(self.forms, sizes.tolist(), strict=True)
            for _ in range(size)
        )
        starts = (self.ends - self.length).tolist()
        rows = zip(letters, self.shared.tolist(), starts, self.ends.tolist(), strict=True)
        return [
            (form[:shared] + self.letters[start:end]).decode(errors="replace")
            for form, shared, start, end in rows
        ]

    def places(self, lemma: str) -> list[int]:
        """The places of the forms of a lemma.

        A form that shares s letters with its lemma, and no more, lies among those that begin with
        them, and the rest of its row is the rest of the lemma. So only such rows are compared.
        """
        letters, found = lemma.encode(), []
        for shared in range(len(letters) + 1):
            first, end = self.forms.beginning_with(letters[:shared])
            if first == end:
                break
            rows = self._sharing(shared, int(self.first[first]), int(self.first[end]))
            rows = rows[self.length[rows] == len(letters) - shared]
            if shared < len(letters):  # most others end in another letter
                rows = rows[self._bytes[self.ends[rows] - 1] == letters[-1]]
            found += [row for row in rows.tolist() if self._rest(row) == letters[shared:]]
        return np.unique(np.searchsorted(self.first, found, "right") - 1).tolist()

    def _sharing(self, shared: int, start: int, end: int) -> np.ndarray:
        """The rows among those from start to end that share so many letters with their lemma."""
        if not shared:  # every row is among these
            return self._suppletive
        return start + np.flatnonzero(self.shared[start:end] == shared)

    @cached_property
    def _suppletive(self) -> np.ndarray:
        """The rows that share no letter with their lemma: ai and avoir."""
        return np.flatnonzero(self.shared == 0)

    def _rest(self, row: int) -> bytes:
        end = int(self.ends[row])
        return self.letters[end - int(self.length[row]) : end]
