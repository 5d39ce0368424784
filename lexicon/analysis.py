"""The answer of every lexicon: the analyses of a form, in the terms of Universal Dependencies.

Paradigms lead from one form of a lemma to another that differs in one feature.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from accord.errors import AccordError

if TYPE_CHECKING:
    import pandas as pd


class LexiconError(AccordError):
    """A lexicon, or a row of one, that cannot be used as it is."""


class Analysis(NamedTuple):
    """One reading of a form. `weight` is 1 for a lexicon's readings, the share for a guess."""

    lemma: str
    upos: str
    feats: str = ""
    weight: float = 1.0

    @property
    def features(self) -> dict[str, str]:
        """Return `feats` by name."""
        return dict(pair.split("=") for pair in self.feats.split("|") if pair)


UPOS = ("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM")
UPOS += ("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X")


# The features of Universal Dependencies that a word of French may have, and Sem, its meaning. A
# table of one's own may have others.
FEATURES = ("Gender", "Number", "Tense", "Mood", "Person", "VerbForm", "Voice", "PronType", "Poss")
FEATURES += ("Reflex", "NumType", "NumForm", "Polarity", "Degree", "Definite", "Case", "Aspect")
FEATURES += ("Animacy", "Deixis", "Polite", "Abbr", "Foreign", "Typo", "ExtPos", "Number[psor]")
FEATURES += ("Person[psor]", "Gender[psor]", "Sem")


def join_feats(*feats: str) -> str:
    """Return one canonical string: `Number=Sing`, `Gender=Fem` → `Gender=Fem|Number=Sing`."""
    return "|".join(sorted({pair for part in feats for pair in part.split("|") if pair}))


def feature_names(feats: Iterable[str]) -> set[str]:
    """Return the names in strings of features: `Gender`, `Number` of `Gender=Fem|Number=Sing`."""
    return {pair.partition("=")[0] for text in {*feats} for pair in text.split("|") if pair}


REMEMBERED = 1 << 18  # forms with their analyses, of each lexicon
LONGEST = 1000  # letters; no lexicon lists a longer form, and composing takes their square
RESPELLED = {"œ": "oe", "Œ": "Oe", "æ": "ae", "Æ": "Ae", "’": "'"}


def plain(form: str) -> str:
    """Return the spelling of most lexicons: composed, no ligature, the straight apostrophe."""
    if form.isascii() or len(form) > LONGEST:
        return form
    form = unicodedata.normalize("NFC", form)
    for letter, spelling in RESPELLED.items():
        form = form.replace(letter, spelling)
    return form


RESPELLINGS = (plain, str.lower, lambda form: plain(form.lower()))


class Lexicon:
    """A form → its analyses. A lexicon supplies `find`, `__iter__` and `__len__`."""

    name: str
    licence: str
    skipped: tuple = ()
    of_text: bool = False  # made from a text; it knows only the words of the text

    def find(self, forms: np.ndarray) -> "pd.DataFrame":
        """Return the rows of `lookup` for forms exactly as they are written."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[str]:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def identity(self) -> str:
        """Return a key that changes whenever an answer does; learned guessers are cached by it."""
        import pandas as pd  # here, as names of features need no tables

        return str(pd.util.hash_pandas_object(everything(self)).sum())

    def lookup(self, forms: Sequence[str]) -> "pd.DataFrame":
        """Return a row per analysis: word (its position), lemma, upos, feats, weight, source.

        An unknown form is tried in the plain spelling of the indexes, then in lower case, as at the
        start of a sentence, then in both. Rows are ordered by word. A form that is unknown in every
        spelling has no row.
        """
        forms = np.asarray(forms, dtype=object)
        parts = [self.find(forms)]
        unknown = absent(parts[0], len(forms))
        for respell in RESPELLINGS:
            respelled = np.array([respell(form) for form in forms[unknown]], dtype=object)
            changed = respelled != forms[unknown]
            parts.append(moved(self.find(respelled[changed]), unknown[changed]))
            unknown = np.setdiff1d(unknown, parts[-1]["word"].to_numpy())
        return stack(parts)

    def frequency(self, forms: Sequence[str]) -> np.ndarray:
        """Return how often each form occurs in the lexicon's own corpus; few lexicons count."""
        raise LexiconError(f"the lexicon {self.name} counts no words: expected one such as lexique")

    def exact(self, form: str) -> tuple[Analysis, ...]:
        """Return the analyses of one form as it is written, as `find` does."""
        rows = self.find(np.array([form], dtype=object))
        columns = (rows[name].tolist() for name in Analysis._fields)
        return tuple(Analysis(*values) for values in zip(*columns, strict=True))

    def analyses(self, form: str) -> tuple[Analysis, ...]:
        """Return the analyses of one form, as `lookup` does."""
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
        return {}  # kept by the lexicon itself, so that both are freed together


def everything(lexicon: Lexicon) -> "pd.DataFrame":
    """Return all rows of a lexicon, with the form of each."""
    forms = np.array(list(lexicon), dtype=object)
    rows = lexicon.find(forms)
    return rows.assign(form=forms[rows["word"].to_numpy()])


def absent(rows: "pd.DataFrame", count: int) -> np.ndarray:
    """Return the positions below `count` that have no row."""
    unknown = np.ones(count, dtype=bool)
    unknown[rows["word"].to_numpy()] = False
    return np.flatnonzero(unknown)


def moved(rows: "pd.DataFrame", positions: np.ndarray) -> "pd.DataFrame":
    """Renumber rows found for `forms[positions]` as rows of `forms`."""
    return rows.assign(word=positions[rows["word"].to_numpy()])


def stack(parts: "Sequence[pd.DataFrame]") -> "pd.DataFrame":
    """Join rows of several lookups, ordered by word, earlier parts first within a word."""
    parts = [part for part in parts if len(part)] or list(parts[:1])
    if len(parts) == 1:
        return parts[0].reset_index(drop=True)
    import pandas as pd

    rows = pd.concat(parts, ignore_index=True)
    return rows.sort_values("word", kind="stable", ignore_index=True)


class Request(NamedTuple):
    """The arguments that `load` passes to every lexicon of a chain."""

    folder: Callable[[str], Path]  # a source's name → the folder with its data
    lowercase: bool = False  # match without regard to case
    strict: bool = False  # stop at the first bad row
    earlier: tuple[Lexicon, ...] = ()  # lexicons of the chain


AGREEING = ("Gender", "Number", "Person")


class Paradigms:
    """The forms of every lemma of a lexicon by their features. Auxiliaries count as verbs."""

    def __init__(self, lexicon: Lexicon):
        self.lexicon = lexicon

    @cached_property
    def _forms(self) -> dict[tuple[str, str, str], set[str]]:
        forms = list(self.lexicon)
        rows = _inflected(self.lexicon.lookup(forms))
        cells = defaultdict(set)
        columns = (rows[name].tolist() for name in ("word", "lemma", "upos", "feats"))
        for word, *cell in zip(*columns, strict=True):
            cells[tuple(cell)].add(forms[word])
        return dict(cells)

    def readings(self, form: str, upos: str, features: Mapping[str, str]) -> list[Analysis]:
        """Return the analyses of a form as this part of speech that do not contradict features."""
        return [
            analysis
            for analysis in self.lexicon.analyses(form)
            if _verb(analysis.upos) == _verb(upos) and agrees(analysis, features)
        ]

    def flip(
        self, form: str, upos: str, features: Mapping[str, str], feature: str, value: str
    ) -> str | None:
        """Return the form of the same lemma that has another value of one feature.

        `features` are known of the form in its place, the feature among them. None if there is no
        such form or more than one, or if the form would be right in that place too. A form that is
        flipped twice must be itself again, otherwise the result is None as well.
        """
        others = self._others(form, upos, features, feature, value)
        if len(others) != 1 or form in others:
            return None
        (other,) = others
        decisive = {*AGREEING, feature}
        if features.get("VerbForm") == "Part":  # after an auxiliary nothing else can stand
            decisive.add("VerbForm")
        agreeing = {name: value for name, value in features.items() if name in decisive}
        if self.readings(other, upos, agreeing):
            return None
        if self.readings(form, upos, {**agreeing, feature: value}):  # an infinitive, say
            return None
        back = self._others(other, upos, {**features, feature: value}, feature, features[feature])
        return other if back == {form} else None

    def _others(
        self, form: str, upos: str, features: Mapping[str, str], feature: str, value: str
    ) -> set[str]:
        """Return the forms that the readings of a form turn into."""
        forms = set()
        for reading in self.readings(form, upos, features):
            if feature in reading.features:
                turned = {**reading.features, feature: value}
                feats = join_feats(*map("=".join, turned.items()))
                forms |= self._forms.get((reading.lemma, _verb(reading.upos), feats), set())
        return forms


def agrees(analysis: Analysis, features: Mapping[str, str]) -> bool:
    """Return whether an analysis has no other value of any of these features."""
    values = analysis.features
    return all(values.get(name, value) == value for name, value in features.items())


def _inflected(rows: "pd.DataFrame") -> "pd.DataFrame":
    """Return the analyses that are forms of a lemma; contractions (du) are two words at once."""
    rows = rows.assign(upos=rows["upos"].map(_verb).astype(str))
    contracted = np.intersect1d(*(rows["word"][rows["upos"] == upos] for upos in ("ADP", "DET")))
    return rows[~rows["word"].isin(contracted)]


def _verb(upos: str) -> str:
    return "VERB" if upos == "AUX" else upos
