"""The compact encoding of the classes of unknown words by ending.

Every form of a lexicon is a known word, so that an unknown one is told by a rule for numbers and
signs, by a known word that it is another spelling of, or by its look and ending. Of endings those
are kept that mean another class than the next shorter one does.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from accord.errors import AccordError
from accord.lexicon.analysis import Lexicon
from accord.lexicon.chain import Chain
from accord.lexicon.closed import LIKELY, Closed, looks
from accord.lexicon.guesser import LONGEST, Guesser
from accord.lexicon.index import Index
from accord.models.common.arrays import load_arrays
from accord.pipeline.base.names import UNKNOWN, UNKNOWN_ID
from accord.pipeline.data.unknown_words import UnknownClasses
from accord.pipeline.model.compact_form import CompactWords, FrontCoded, narrow
from accord.pipeline.model.readings import CompactReadings

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
            raise AccordError(
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
            raise AccordError(f"{path}: expected classes from 1 to {len(classes)}")
        try:
            self.kinds = dict(zip(FrontCoded(**arrays), kinds.tolist(), strict=True))
        except ValueError as error:
            raise AccordError(f"{path}: {error}") from None
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


def unknown_classes(readings: CompactReadings, about: dict[str, Any]) -> UnknownClasses:
    """The classes of unknown words, as with the lexicons that `about` names."""
    unknown, lowercase, names = readings.words.unknown, about["lowercase"], about["names"]
    if len(unknown) == 1:
        return UnknownClasses(unknown, None)
    rules = [Closed(lowercase)] if "closed" in names else []
    guesser = Endings(readings.folder / ENDINGS, unknown) if "guesser" in names else None
    listed = ListedWords(readings.words, readings, lowercase)
    return UnknownClasses(unknown, Chain([listed, *rules], guesser=guesser))
