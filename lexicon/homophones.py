"""Words that sound the same, from the pronunciations of Lexique 3.83 (CC BY-SA 4.0).

`homophones.zip` lies beside this module, so that a checker needs no other file. It has the forms of
Lexique with their sounds and frequencies. It is derived from Lexique, so its licence is CC BY-SA
4.0 too: B. New, C. Pallier, M. Brysbaert and L. Ferrand, *Lexique 2*, 2004. This command writes it
anew after `accord fetch lexique`:

    python -m accord.lexicon.dictionaries FOLDER_OF_LEXIQUE/Lexique383.txt

Pronunciations are no analyses: φ describes the grammar of a word, not its sound.
"""

import zipfile
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

TABLE = Path(__file__).with_suffix(".zip")
TEXTS = ("forms", "sounds")  # its files with a text a line, and those of numbers
NUMBERS = {"sizes": "u1", "counts": "<i4", "sound": "<i4"}
UNIT = 200  # counts are kept as whole numbers: Lexique has two digits, in two texts
UNCOUNTED = -1
# Lexique writes elided words without their apostrophe.
ELIDED = {"c", "d", "j", "l", "m", "n", "s", "t", "qu", "lorsqu", "puisqu", "jusqu", "presqu"}
# An elided word stands before one that begins with a vowel, or with an h that may be mute.
AFTER_ELISION = tuple("aàâeéèêëiîïoôuùûyh")


class Spoken(NamedTuple):
    """A form as it may be pronounced, and how often it occurs per million words."""

    form: str
    sound: str
    count: float | None = 0.0  # None where it was not counted


@dataclass(eq=False)
class Homophones:
    """Words that sound the same: et and est, ces and ses. A form may have several sounds (`fils`).

    Rows are a form with one of its sounds; those of a form lie together.
    """

    forms: list[str]  # sorted
    sizes: np.ndarray  # how many rows each form has
    counts: np.ndarray  # of each form, in 1/UNIT per million words
    sounds: list[str]  # sorted
    sound: np.ndarray  # of each row, the number of its sound

    def __post_init__(self):
        self._ends = np.cumsum(self.sizes)

    @classmethod
    def of_rows(cls, spoken: Iterable[Spoken]) -> "Homophones":
        """Build the tables from rows in any order."""
        count: dict[str, float] = {}
        of_form: dict[str, set[str]] = {}
        for form, sound, counted in spoken:
            of_form.setdefault(form, set()).add(sound)
            if counted is not None:
                count[form] = count.get(form, 0.0) + counted
        forms = sorted(of_form)
        sounds = sorted(set().union(*of_form.values()))
        number = {sound: place for place, sound in enumerate(sounds)}
        sizes = np.array([len(of_form[form]) for form in forms])
        counts = np.array([round(UNIT * count.get(form, UNCOUNTED / UNIT)) for form in forms])
        sound = [number[sound] for form in forms for sound in sorted(of_form[form])]
        return cls(forms, sizes, counts, sounds, np.array(sound, int))

    @classmethod
    @cache
    def bundled(cls) -> "Homophones":
        """Return those of Lexique, from the table beside this module."""
        return cls.load(TABLE)

    @classmethod
    def load(cls, path: Path) -> "Homophones":
        with zipfile.ZipFile(path) as file:
            texts = {name: file.read(name).decode().split("\n") for name in TEXTS}
            arrays = {name: np.frombuffer(file.read(name), NUMBERS[name]) for name in NUMBERS}
        return cls(**texts, **arrays)

    def save(self, path: Path) -> None:
        contents = {name: "\n".join(getattr(self, name)).encode() for name in TEXTS}
        arrays = {name: getattr(self, name).astype(kind) for name, kind in NUMBERS.items()}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
            for name, content in (contents | arrays).items():
                file.writestr(zipfile.ZipInfo(name), bytes(content), zipfile.ZIP_DEFLATED)

    def __contains__(self, form: str) -> bool:
        return _place(self.forms, form) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.forms)

    def sounding_like(self, form: str) -> list[str]:
        """Return the other forms that may sound like this one, the most frequent first.

        An elided word sounds like elided words alone: *s'* like *c'*, not like the letter.
        """
        others = {other for sound in self.sounds_of(form) for other in self._with(sound)} - {form}
        alike = (other for other in others if other.endswith("'") == form.endswith("'"))
        return sorted(alike, key=lambda other: (-self.count(other), other))

    def sounds_of(self, form: str) -> set[str]:
        """Return the ways to pronounce a form; none of a word that Lexique lacks."""
        return {self.sounds[number] for number in self.sound[self._rows(form)]}

    def count(self, form: str) -> float:
        """Return how often a form occurs in Lexique's subtitles and books, per million words.

        Some elided words it counts with their full forms: *j'* with *je*.
        """
        if form.endswith("'") and self._counted(form) < 0:
            form = f"{form[:-1]}e"
        return max(self._counted(form), 0) / UNIT

    def joined(self, elided: str, word: str) -> list[str]:
        """Return the single words that sound like these two: *la* for *l'* and *a*."""
        if not _elides(elided, word):
            return []
        sounds = product(self.sounds_of(elided), self.sounds_of(word))
        forms = {form for first, second in sounds for form in self._with(first + second)}
        return sorted(form for form in forms if "'" not in form)

    def parted(self, form: str) -> list[tuple[str, str]]:
        """Return the pairs of an elided and another word that sound like this one."""
        elided = [f"{letters}'" for letters in ELIDED if f"{letters}'" in self and "'" not in form]
        sounds = self.sounds_of(form)
        pairs = {
            (first, second)
            for first in elided
            for beginning in self.sounds_of(first)
            for sound in sounds
            if sound.startswith(beginning)
            for second in self._with(sound.removeprefix(beginning))
        }
        return sorted(pair for pair in pairs if _elides(*pair))

    def _rows(self, form: str) -> slice:
        number = _place(self.forms, form)
        if number is None:
            return slice(0)
        end = int(self._ends[number])
        return slice(end - int(self.sizes[number]), end)

    def _counted(self, form: str) -> int:
        number = _place(self.forms, form)
        return UNCOUNTED if number is None else int(self.counts[number])

    def _with(self, sound: str) -> list[str]:
        """Return the forms that may have a sound."""
        number = _place(self.sounds, sound)
        if number is None:
            return []
        rows = np.flatnonzero(self.sound == number)
        return [self.forms[place] for place in np.searchsorted(self._ends, rows, side="right")]


def _place(texts: list[str], text: str) -> int | None:
    """Return the place of a text in a sorted list; None if it is missing."""
    place = bisect_left(texts, text)
    return place if place < len(texts) and texts[place] == text else None


def _elides(elided: str, word: str) -> bool:
    """Return whether the first may stand before the second."""
    is_elided = elided.endswith("'") and elided[:-1] in ELIDED
    return is_elided and word.startswith(AFTER_ELISION) and "'" not in word
