"""The answer of every lexicon: the analyses of a form, in the terms of Universal Dependencies.

Paradigms lead from one form of a lemma to another that differs in one feature.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from accord.lexicon.reading import LexiconError


class Analysis(NamedTuple):
    """One reading of a form. `weight` is 1 for a lexicon's readings, the share for a guess."""

    lemma: str
    upos: str
    feats: str = ""
    weight: float = 1.0

    @property
    def features(self) -> dict[str, str]:
        """`feats` by name."""
        return dict(pair.split("=") for pair in self.feats.split("|") if pair)


UPOS = ("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM")
UPOS += ("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X")


# The features of Universal Dependencies that a word of French may have, and Sem: what it means.
# A table of one's own may have others.
FEATURES = ("Gender", "Number", "Tense", "Mood", "Person", "VerbForm", "Voice", "PronType", "Poss")
FEATURES += ("Reflex", "NumType", "NumForm", "Polarity", "Degree", "Definite", "Case", "Aspect")
FEATURES += ("Animacy", "Deixis", "Polite", "Abbr", "Foreign", "Typo", "ExtPos", "Number[psor]")
FEATURES += ("Person[psor]", "Gender[psor]", "Sem")


def join_feats(*feats: str) -> str:
    """Features as one canonical string: `Number=Sing`, `Gender=Fem` → `Gender=Fem|Number=Sing`."""
    return "|".join(sorted({pair for part in feats for pair in part.split("|") if pair}))


def feature_names(feats: Iterable[str]) -> set[str]:
    """The names in strings of features: `Gender` and `Number` in `Gender=Fem|Number=Sing`."""
    return {pair.partition("=")[0] for each in {*feats} for pair in each.split("|") if pair}


class Lexicon:
    """A form → its analyses. A lexicon supplies `find`, `__iter__` and `__len__`."""

    name: str
    licence: str
    skipped: tuple = ()
    of_text: bool = False  # made from a text; it knows only the words of the text

    def find(self, forms: np.ndarray) -> pd.DataFrame:
        """The rows of `lookup` for forms exactly as they are written."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[str]:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def identity(self) -> str:
        """A key that changes whenever an answer does. Learned guessers are cached under it."""
        return str(pd.util.hash_pandas_object(everything(self)).sum())

    def lookup(self, forms: Sequence[str]) -> pd.DataFrame:
        """One row per analysis: word (position in `forms`), lemma, upos, feats, weight, source.

        An unknown form is tried in the plain spelling of the indexes, then in lower case, as at the
        start of a sentence, then in both. Rows are ordered by word. A form that is unknown in every
        spelling has no row.
        """
        forms = np.asarray(forms, dtype=object)
        parts = [self.find(forms)]
        unknown = absent(parts[0], len(forms))
        for respell in RESPELLINGS:
            spelled = np.array([respell(form) for form in forms[unknown]], dtype=object)
            changed = spelled != forms[unknown]
            found = moved(self.find(spelled[changed]), unknown[changed])
            parts.append(found)
            unknown = np.setdiff1d(unknown, found["word"].to_numpy(), assume_unique=False)
        return stack(parts)

    def frequency(self, forms: Sequence[str]) -> np.ndarray:
        """How often each form occurs in the lexicon's own corpus; few lexicons count."""
        raise LexiconError(f"the lexicon {self.name} counts no words: expected one such as lexique")

    def exact(self, form: str) -> tuple[Analysis, ...]:
        """The answer of `find` for one form."""
        rows = self.find(np.array([form], dtype=object))
        columns = (rows[name].tolist() for name in Analysis._fields)
        return tuple(Analysis(*values) for values in zip(*columns, strict=True))

    def analyses(self, form: str) -> tuple[Analysis, ...]:
        """Return the analyses of one form, as `lookup` finds them."""
        analyses = self._remembered.get(form)
        if analyses is None:
            if len(self._remembered) >= REMEMBERED:
                self._remembered.clear()
            spellings = dict.fromkeys((form, *(respell(form) for respell in RESPELLINGS)))
            analyses = next(filter(None, map(self.exact, spellings)), ())
            self._remembered[form] = analyses
        return analyses

    @cached_property
    def _remembered(self) -> dict[str, tuple[Analysis, ...]]:
        return {}  # of the lexicon itself, so that it goes with it


REMEMBERED = 1 << 18  # forms with their analyses, of each lexicon
# Letters; no lexicon lists a longer form, and composing takes the square of the marks in a row.
LONGEST = 1000
SPELLED = {"œ": "oe", "Œ": "Oe", "æ": "ae", "Æ": "Ae", "’": "'"}


def plain(form: str) -> str:
    """The spelling of most lexicons: characters composed, no ligature, the straight apostrophe."""
    if form.isascii() or len(form) > LONGEST:
        return form
    form = unicodedata.normalize("NFC", form)
    for letter, spelled in SPELLED.items():
        form = form.replace(letter, spelled)
    return form


RESPELLINGS = (plain, str.lower, lambda form: plain(form.lower()))


def everything(lexicon: Lexicon) -> pd.DataFrame:
    """All rows of a lexicon, with the form of each."""
    forms = np.array(list(lexicon), dtype=object)
    rows = lexicon.find(forms)
    return rows.assign(form=forms[rows["word"].to_numpy()])


def absent(rows: pd.DataFrame, count: int) -> np.ndarray:
    """The positions below `count` that have no row."""
    unknown = np.ones(count, dtype=bool)
    unknown[rows["word"].to_numpy()] = False
    return np.flatnonzero(unknown)


def moved(rows: pd.DataFrame, positions: np.ndarray) -> pd.DataFrame:
    """Rows found for `forms[positions]`, renumbered as rows of `forms`."""
    return rows.assign(word=positions[rows["word"].to_numpy()])


def stack(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Rows of several lookups as one, ordered by word, earlier parts first within a word."""
    parts = [part for part in parts if len(part)] or list(parts[:1])
    if len(parts) == 1:
        return parts[0].reset_index(drop=True)
    rows = pd.concat(parts, ignore_index=True)
    return rows.sort_values("word", kind="stable", ignore_index=True)


class Request(NamedTuple):
    """The arguments that `load` passes to every lexicon of a chain."""

    folder: Callable[[str], Path]  # a source's name → the folder with its data
    lowercase: bool = False  # match without regard to case
    strict: bool = False  # stop at the first bad row
    before: tuple[Lexicon, ...] = ()  # the lexicons earlier in the chain


AGREEING = ("Gender", "Number", "Person")


class Paradigms:
    """The forms of every lemma of a lexicon by their features. Auxiliaries count as verbs."""

    def __init__(self, lexicon: Lexicon):
        self.lexicon = lexicon

    @cached_property
    def _forms(self) -> dict[tuple[str, str, str], set[str]]:
        forms = list(self.lexicon)
        rows = inflected(self.lexicon.lookup(forms))
        found = defaultdict(set)
        columns = (rows[name].tolist() for name in ("word", "lemma", "upos", "feats"))
        for place, *cell in zip(*columns, strict=True):
            found[tuple(cell)].add(forms[place])
        return dict(found)

    def readings(self, form: str, upos: str, given: Mapping[str, str]) -> list[Analysis]:
        """The analyses of a form as this part of speech that do not contradict some features."""
        return [
            each
            for each in self.lexicon.analyses(form)
            if _verb(each.upos) == _verb(upos) and agrees(each, given)
        ]

    def flip(
        self, form: str, upos: str, given: Mapping[str, str], feature: str, value: str
    ) -> str | None:
        """The form of the same lemma that has another value of one feature.

        `given` is what is known of the form in its place, the feature among it. None if there is no
        such form or more than one, or if the form would be right in that place too. A form that is
        flipped twice must be itself again, otherwise the result is None as well.
        """
        there = self._others(form, upos, given, feature, value)
        if len(there) != 1 or form in there:
            return None
        (other,) = there
        decisive = {*AGREEING, feature}
        if given.get("VerbForm") == "Part":  # after an auxiliary nothing else can stand
            decisive.add("VerbForm")
        agreeing = {name: value for name, value in given.items() if name in decisive}
        if self.readings(other, upos, agreeing):
            return None
        if self.readings(form, upos, {**agreeing, feature: value}):  # an infinitive, say
            return None
        back = self._others(other, upos, {**given, feature: value}, feature, given[feature])
        return other if back == {form} else None

    def _others(
        self, form: str, upos: str, given: Mapping[str, str], feature: str, value: str
    ) -> set[str]:
        """The forms that the readings of a form turn into."""
        found = set()
        for reading in self.readings(form, upos, given):
            if feature in reading.features:
                turned = {**reading.features, feature: value}
                feats = join_feats(*(f"{name}={each}" for name, each in turned.items()))
                found |= self._forms.get((reading.lemma, _verb(reading.upos), feats), set())
        return found


def agrees(analysis: Analysis, given: Mapping[str, str]) -> bool:
    """Whether an analysis has no other value of any of these features."""
    values = analysis.features
    return all(values.get(name, value) == value for name, value in given.items())


def inflected(rows: pd.DataFrame) -> pd.DataFrame:
    """The analyses that are forms of a lemma: auxiliaries count as verbs, contractions do not.

    A contraction (du) is two words at once, and no form of either.
    """
    rows = rows.assign(upos=rows["upos"].map(_verb).astype(str))
    contracted = np.intersect1d(*(rows["word"][rows["upos"] == each] for each in ("ADP", "DET")))
    return rows[~rows["word"].isin(contracted)]


def _verb(upos: str) -> str:
    return "VERB" if upos == "AUX" else upos
