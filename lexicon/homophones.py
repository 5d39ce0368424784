"""Words that sound the same, by the pronunciations of Lexique 3.83: et and est, ces and ses.

Pronunciations stand apart from the analyses: φ tells what a word is, not how it sounds.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from lexicon.lexique import ELIDED, FREQUENCIES, apostrophe, lexique, per_million
from lexicon.reading import Report, check_names, check_word, columns, header, lines, rows

COLUMNS = ("1_ortho", "3_lemme", "2_phon", "4_cgram")
# An elided word stands before one that begins with a vowel, or with an h that may be mute.
AFTER_ELISION = tuple("aàâeéèêëiîïoôuùûyh")


class Spoken(NamedTuple):
    """A form of a lemma as it may be pronounced, and how often it occurs per million words."""

    form: str
    lemma: str
    sound: str
    count: float | None = 0.0  # None where it was not counted


class Homophones:
    """Forms by their sounds; a form may have several (`fils`)."""

    def __init__(self, spoken: Iterable[Spoken]):
        self._count: dict[str, float] = defaultdict(float)
        self._lemmas: dict[str, set[str]] = defaultdict(set)
        self._sounds: dict[str, set[str]] = defaultdict(set)  # of a form
        self._forms: dict[str, set[str]] = defaultdict(set)  # of a sound
        for form, lemma, sound, count in spoken:
            if count is not None:
                self._count[form] += count
            self._lemmas[form].add(lemma)
            self._sounds[form].add(sound)
            self._forms[sound].add(form)

    @classmethod
    def load(cls, folder: Callable[[str], Path]) -> "Homophones":
        """Those of Lexique's file, `folder` telling where a source's data lie."""
        path = lexique.path(folder)
        report = Report(path)
        numbered = lines(path, report, encoding="cp1252", cut_short=True)
        names = header(path, numbered).split("\t")
        check_names(path, names, (*COLUMNS, *FREQUENCIES))
        return cls(rows(numbered, report, partial(parse, names=names)))

    def __contains__(self, form: str) -> bool:
        return form in self._sounds

    def __iter__(self) -> Iterator[str]:
        return iter(self._sounds)

    def of(self, form: str) -> list[str]:
        """The other forms that may sound like this one, the most frequent first.

        An elided word sounds like elided words alone: *s'* like *c'*, not like the letter.
        """
        sounds = self._sounds.get(form, ())
        found = {other for sound in sounds for other in self._forms[sound]} - {form}
        alike = (other for other in found if other.endswith("'") == form.endswith("'"))
        return sorted(alike, key=lambda other: (-self.count(other), other))

    def count(self, form: str) -> float:
        """How often a form occurs in Lexique's subtitles and books, per million words.

        Some elided words it counts with their full forms: *j'* with *je*.
        """
        if form.endswith("'") and form not in self._count:
            form = f"{form[:-1]}e"
        return self._count.get(form, 0.0)

    def share_lemma(self, one: str, other: str) -> bool:
        """Whether two forms are forms of one word: *chanté* and *chanter*, not *et* and *est*."""
        return bool(self._lemmas.get(one, set()) & self._lemmas.get(other, set()))

    def joined(self, elided: str, word: str) -> list[str]:
        """The single words that sound like these two: *la* for *l'* and *a*."""
        if not _elides(elided, word):
            return []
        first, second = (self._sounds.get(each, ()) for each in (elided, word))
        found = {form for a in first for b in second for form in self._forms.get(a + b, ())}
        return sorted(form for form in found if "'" not in form)

    def parted(self, form: str) -> list[tuple[str, str]]:
        """The pairs of an elided and another word that sound like this one."""
        elided = [f"{letters}'" for letters in ELIDED if f"{letters}'" in self and "'" not in form]
        found = {
            (first, second)
            for first in elided
            for beginning in self._sounds[first]
            for sound in self._sounds.get(form, ())
            if sound.startswith(beginning)
            for second in self._forms.get(sound.removeprefix(beginning), ())
        }
        return sorted(pair for pair in found if _elides(*pair))


def _elides(elided: str, word: str) -> bool:
    """Whether the first may stand before the second."""
    is_elided = elided.endswith("'") and elided[:-1] in ELIDED
    return is_elided and word.startswith(AFTER_ELISION) and "'" not in word


def parse(line: str, names: Sequence[str]) -> list[Spoken]:
    cells = dict(zip(names, columns(line, len(names)), strict=True))
    form, lemma, sound, name = (cells[column] for column in COLUMNS)
    check_word(form, lemma)
    mark, count = apostrophe(form, name), per_million(cells)
    return [Spoken(form + mark, lemma, sound, None if mark else count)] if sound else []
