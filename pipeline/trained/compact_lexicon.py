"""The compact encoding of readings, lemmas, and classes of unknown words by ending.

A lemma is kept as what it shares with the form, and the rest. A word's set says all but lemmas.

Every form of a lexicon is a known word, so that an unknown one is told by a rule for numbers and
signs, by a known word that it is another spelling of, or by its look and ending. Of endings those
are kept that mean another class than the next shorter one does.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from accord.lexicon.analysis import Lexicon
from accord.lexicon.chain import Chain
from accord.lexicon.closed import LIKELY, Closed, looks
from accord.lexicon.guesser import LONGEST, Guesser
from accord.lexicon.index import Index
from accord.models.common.arrays import load_arrays
from accord.models.common.batching import in_a_row
from accord.models.common.checks import check_range
from accord.pipeline.artefacts.names import UNKNOWN, UNKNOWN_ID
from accord.pipeline.dataset.unknown_words import UnknownClasses
from accord.pipeline.trained.compact_form import CompactWords, FrontCoded, common_prefix, narrow

READINGS, LEMMAS = "readings.npz", "lemmas.npz"
TEXTS = ("upos", "feats", "source")
NAMES = (*TEXTS, "weight", "lengths", "reading")


def encode(analyses: pd.DataFrame, words: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
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


def encode_lemmas(analyses: pd.DataFrame, words: CompactWords) -> dict[str, np.ndarray]:
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

    def table(self, columns: Sequence[str]) -> pd.DataFrame:
        """A row for each analysis of each word, by id: the columns of `analyses.parquet`."""
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

    def classes(self, about: dict[str, Any]) -> UnknownClasses:
        """The classes of unknown words, as with the lexicons that `about` names."""
        unknown, lowercase, names = self.words.unknown, about["lowercase"], about["names"]
        if len(unknown) == 1:
            return UnknownClasses(unknown, None)
        rules = [Closed(lowercase)] if "closed" in names else []
        guesser = Endings(self.folder / ENDINGS, unknown) if "guesser" in names else None
        listed = ListedWords(self.words, self, lowercase)
        return UnknownClasses(unknown, Chain([listed, *rules], guesser=guesser))

    def _lemmas(self, sizes: np.ndarray) -> np.ndarray:
        arrays = load_arrays(self.folder / LEMMAS, FrontCoded.NAMES)
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
        return np.array(lemmas, dtype=object)[in_a_row(first, sizes)]


ENDINGS = "endings.npz"
COLUMNS = ["word", "lemma", "upos", "feats", "weight", "source"]


class _Answers(Lexicon):
    """What has no forms of its own to list."""

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def lookup(self, forms: Sequence[str]) -> pd.DataFrame:
        return self.find(np.asarray(forms, dtype=object))


class _OfLook(_Answers):
    """A guesser whose forms all have one look, whatever they look like."""

    def __init__(self, guesser: Guesser, look: str):
        self.guesser, self.look = guesser, look

    def find(self, forms: np.ndarray) -> pd.DataFrame:
        return self.guesser.guess(np.full(len(forms), self.look, dtype=object), forms)


def guesser_of(chain: Lexicon) -> Guesser | None:
    """The guesser of a chain that otherwise has only indexes and rules."""
    guesser = chain.guesser if isinstance(chain, Chain) else None
    parts = chain.lexicons if isinstance(chain, Chain) else [chain]
    for part in parts:
        if not isinstance(part, Index | Closed):
            raise ValueError(
                f"the lexicon {part.name} answers for words that it does not list: expected "
                f"indexes and closed classes, whose answers a small form can hold"
            )
    return guesser


def encode_endings(guesser: Guesser | None, classes: Sequence[str]) -> dict[str, np.ndarray]:
    """The looks with their endings, and the id of the unknown word that each means."""
    known: dict[str, set[str]] = {look: set() for look in LIKELY}
    for key in () if guesser is None else guesser.suffixes:
        look, _, ending = key.partition(" ")
        known[look].add(ending)
    kept: dict[str, int] = {}
    for look, (_, surety) in LIKELY.items():
        # What a look is not sure of is left to the ending of a word in small letters.
        endings = sorted(known[look] | known["small"] if surety < 1 else known[look])
        if endings:
            ids = UnknownClasses(classes, _OfLook(guesser, look)).ids(endings)
            kept |= _telling(look, dict(zip(endings, ids.tolist(), strict=True)))
    kinds = np.array([kept[key] for key in sorted(kept)], np.int64)
    return {**FrontCoded.encode(sorted(kept)).arrays, "kind": narrow(kinds)}


def _telling(look: str, kinds: dict[str, int]) -> dict[str, int]:
    """The endings that mean another class than the next shorter one that is known."""

    def shorter(ending: str) -> int | None:
        ends = (ending[cut:] for cut in range(1, len(ending) + 1))
        return next((kinds[each] for each in ends if each in kinds), None)

    return {f"{look} {end}": kind for end, kind in kinds.items() if shorter(end) != kind}


def _lower(form: str) -> str:
    """Letter by letter, as Arrow does, which counted the endings: İ is i, and no two letters."""
    return "".join(letter.lower()[0] for letter in form)


class Endings(_Answers):
    """A reading of any form whatever that means its class."""

    name, licence = "guesser", ""

    def __init__(self, path: Path, classes: Sequence[str]):
        arrays = load_arrays(path, [*FrontCoded.NAMES, "kind"])
        kinds = arrays.pop("kind").astype(np.int64) - UNKNOWN_ID
        if not all(0 <= kind < len(classes) for kind in kinds):
            raise ValueError(f"{path}: expected classes from 1 to {len(classes)}")
        try:
            self.kinds = dict(zip(FrontCoded(**arrays), kinds.tolist(), strict=True))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        self.means = [name.removeprefix(UNKNOWN).strip().partition(" ") for name in classes]

    def find(self, forms: np.ndarray) -> pd.DataFrame:
        lower = [_lower(form) for form in forms]
        means = [self.means[self._kind(*each)] for each in zip(looks(forms), lower, strict=True)]
        rows = [(place, "", upos, feats) for place, (upos, _, feats) in enumerate(means)]
        table = pd.DataFrame(rows, columns=COLUMNS[:4]).astype({"word": np.int64})
        return table.assign(weight=1.0, source=self.name)

    def _kind(self, look: str, form: str) -> int:
        starts = range(max(0, len(form) - LONGEST), len(form) + 1)
        keys = (f"{look} {form[start:]}" for start in starts)
        return next((self.kinds[key] for key in keys if key in self.kinds), 0)


class ListedWords(_Answers):
    """The forms of the lexicons, which are known words, and their readings."""

    name, licence = "listed", ""

    def __init__(self, words: CompactWords, readings: CompactReadings, lowercase: bool):
        self.words, self.readings, self.lowercase = words, readings, lowercase

    def find(self, forms: np.ndarray) -> pd.DataFrame:
        rows = []
        for number, form in enumerate(forms):
            place = self.words.forms.find(form.lower() if self.lowercase else form)
            if place >= 0 and not self.words.columns["unknown"][place]:
                rows += [(number, "", *each) for each in self.readings.of(place)]
        return pd.DataFrame(rows, columns=COLUMNS).astype({"word": np.int64})
