"""A form → its analyses, in the terms of Universal Dependencies, from one lexicon or a chain.

Lexicons come with Accord, from a user's file, or from other packages. Paradigms lead from one form
of a lemma to another that differs in one feature.
"""

import sys
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from difflib import get_close_matches
from functools import cached_property
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from accord.errors import AccordError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

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


# Name → module:object, imported at its first use. Each object makes a lexicon from a Request.
BUILT_IN = {
    "closed": "accord.lexicon.closed:closed",
    "lefff": "accord.lexicon.dictionaries:lefff",
    "dela": "accord.lexicon.dictionaries:dela",
    "lexique": "accord.lexicon.dictionaries:lexique",
    "unimorph": "accord.lexicon.dictionaries:unimorph",
    "guesser": "accord.lexicon.guesser:guesser",
    "gsd-lexicon": "accord.lexicon.tables:gsd",
    "gsd-contracted": "accord.lexicon.tables:gsd_contracted",
    "tiny": "accord.lexicon.tables:tiny",
}
# Functions that make a lexicon from a text: `treebank:FILE`, `spacy:TEXT`, `spacy:MODEL:TEXT`. The
# path of a table is one itself.
FROM_PATH = {
    "treebank": "accord.lexicon.tables:treebank",
    "spacy": "accord.lexicon.tables:spacy_text",
}
TABLES = (".tsv", ".csv")
TABLE = "accord.lexicon.tables:user_table"
GROUP = "accord.lexicons"
Join = Literal["fallback", "union"]


def names() -> list[str]:
    """Return every name that a chain may hold."""
    return [*BUILT_IN, *(point.name for point in _points())]


def _points(**chosen: str) -> "EntryPoints":
    from importlib.metadata import entry_points  # here, as to know Accord's own needs none

    return entry_points(group=GROUP, **chosen)


def find(name: str) -> Callable[[Request], Lexicon]:
    """Return the maker of a lexicon: Accord's own, of a user's file, or of an entry point."""
    if name in BUILT_IN:
        return resolve_name(BUILT_IN[name])
    kind, colon, path = name.partition(":")
    if colon and kind in FROM_PATH:
        return resolve_name(FROM_PATH[kind])(Path(path))
    if Path(name).suffix in TABLES:
        return resolve_name(TABLE)(Path(name))
    for point in _points(name=name):
        package = point.dist.name if point.dist else point.value
        with _blaming(name, f"of {package} cannot be loaded"):
            return point.load()
    near = get_close_matches(name, names(), n=1, cutoff=0.0)
    raise LexiconError(
        f"unknown lexicon {name!r}; did you mean {near[0]!r}? Known: {', '.join(names())}, "
        f"the path of a .tsv or .csv table, {', '.join(f'{kind}:PATH' for kind in FROM_PATH)}"
    )


def make(name: str, request: Request) -> Lexicon:
    """Return the lexicon of a name, as a chain requests it."""
    maker = find(name)
    with nullcontext() if name in BUILT_IN else _blaming(name, "cannot be made"):
        return maker(request)


def files(name: str, folder: Callable[[str], Path]) -> list[Path]:
    """Return the files that a lexicon's answers depend on; one that is written in code has none.

    `folder` returns the folder of a source's data.
    """
    maker = find(name)
    data = maker.files(folder) if hasattr(maker, "files") else []
    code = plug_in_file(name)
    return [*data, code] if code else data


def plug_in_file(name: str) -> Path | None:
    """Return the file in which another package defines a lexicon; None if no package does."""
    for point in () if name in BUILT_IN else _points(name=name):
        find(name)
        return Path(sys.modules[point.module].__file__)
    return None


@contextmanager
def _blaming(name: str, fault: str) -> Iterator[None]:
    """Report any error of another package's code in one line. Missing data can be fetched."""
    try:
        yield
    except (LexiconError, OSError):
        raise
    except Exception as error:
        kind = type(error).__name__
        raise LexiconError(f"lexicon {name!r} {fault}: {kind}: {error}") from error


def load(
    names: Sequence[str],
    *,
    folder: Callable[[str], Path],
    join: Join = "fallback",
    lowercase: bool = False,
    strict: bool = False,
) -> Lexicon:
    """Load a chain of lexicons, such as `["closed", "lefff", "dela", "guesser"]`.

    A name is that of a lexicon, the path of a TSV or CSV table, `treebank:FILE` (CoNLL-U),
    `spacy:TEXT` or `spacy:MODEL:TEXT` (a text that a model of spaCy tags). `folder` returns the
    folder of a source's data. With `lowercase` all forms are compared in lower case; otherwise a
    form is looked up as it is written, and then in lower case. `strict` stops at the first row that
    cannot be read; the default lists such rows in `.skipped`.

    A lexicon made of a text (a treebank) only teaches the guesser, if there is one. Its own answers
    would tell the words of that text from all others.
    """
    if not names:
        raise LexiconError("expected a chain of one lexicon or more, got none")
    if "guesser" in names[:-1]:
        raise LexiconError("the guesser answers everything, so it must come last in the chain")
    lexicons: list[Lexicon] = []
    for name in names:
        lexicons.append(make(name, Request(folder, lowercase, strict, tuple(lexicons))))
    if names[-1] != "guesser":
        return Chain(lexicons, join) if len(lexicons) > 1 else lexicons[0]
    *known, guesser = lexicons
    known = [lexicon for lexicon in known if not lexicon.of_text]
    return Chain(known, join, guesser) if known else guesser


class Chain(Lexicon):
    """`fallback`: the first lexicon that knows a form answers. `union`: all answer.

    A guesser comes last and answers only for forms that no lexicon knows in any spelling.
    """

    def __init__(self, lexicons: Sequence[Lexicon], join: Join = "fallback", guesser=None):
        if join not in ("fallback", "union"):
            raise AccordError(f"join is 'fallback' or 'union', not {join!r}")
        self.lexicons, self.join, self.guesser = tuple(lexicons), join, guesser
        parts = self.lexicons if guesser is None else (*self.lexicons, guesser)
        self.name = "+".join(part.name for part in parts)
        self.licence = ", ".join(dict.fromkeys(part.licence for part in parts))
        self.skipped = tuple(rows for part in parts for rows in part.skipped)

    def __iter__(self) -> Iterator[str]:
        seen = set()
        for lexicon in self.lexicons:
            yield from (form for form in lexicon if form not in seen)
            seen.update(lexicon)

    def __len__(self) -> int:
        return len(set().union(*self.lexicons))

    def find(self, forms: np.ndarray) -> "pd.DataFrame":
        if self.join == "union":
            rows = stack([lexicon.find(forms) for lexicon in self.lexicons])
            return rows.drop_duplicates(["word", "lemma", "upos", "feats"], ignore_index=True)
        unknown = np.arange(len(forms))
        parts = []
        for lexicon in self.lexicons:
            rows = lexicon.find(forms[unknown])
            parts.append(moved(rows, unknown))
            unknown = unknown[absent(rows, len(unknown))]
        return stack(parts)

    def exact(self, form: str) -> tuple[Analysis, ...]:
        answers = (lexicon.exact(form) for lexicon in self.lexicons)
        if self.join == "fallback":
            return next(filter(None, answers), ())
        return tuple(dict.fromkeys(chain.from_iterable(answers)))

    def analyses(self, form: str) -> tuple[Analysis, ...]:
        known = super().analyses(form)
        return known if known or self.guesser is None else self.guesser.analyses(form)

    def lookup(self, forms: Sequence[str]) -> "pd.DataFrame":
        known = super().lookup(forms)
        if self.guesser is None:
            return known
        forms = np.asarray(forms, dtype=object)
        unknown = absent(known, len(forms))
        return stack([known, moved(self.guesser.lookup(forms[unknown]), unknown)])


AGREEING = ("Gender", "Number", "Person")


class Paradigms:
    """The forms of every lemma of a lexicon by their features. Auxiliaries count as verbs."""

    def __init__(self, lexicon: Lexicon):
        self.lexicon = lexicon

    @cached_property
    def _forms(self) -> dict[tuple[str, str, str], set[str]]:
        forms = list(self.lexicon)
        rows = self.lexicon.lookup(forms)
        rows = rows.assign(upos=rows["upos"].map(_verb).astype(str))
        of_upos = (rows["word"][rows["upos"] == upos] for upos in ("ADP", "DET"))
        rows = rows[~rows["word"].isin(np.intersect1d(*of_upos))]  # du is two words at once
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
        flipped = {**agreeing, feature: value}
        if self.readings(other, upos, agreeing) or self.readings(form, upos, flipped):
            return None  # an infinitive, say
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


def _verb(upos: str) -> str:
    return "VERB" if upos == "AUX" else upos
