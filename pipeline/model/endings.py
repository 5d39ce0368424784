"""The classes of unknown words, in a model folder by their endings: endings.npz.

A word outside the lexicons has the class of its likeliest analysis and, where that is a guess, φ of
that class, whether training has it or not: nothing in φ betrays which words were seen. A class is
one unknown word of the vocabulary. It has the analyses of its words of training, each by its mean
share. Spellings are those of the training text: others are not known before the test.

Every form of a lexicon is a known word. An unknown one is told by a rule for numbers and signs, by
a known word that it is another spelling of, or by its look and ending. Of endings those are kept
that mean another class than the next shorter one.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path

import numpy as np
import pandas as pd

from accord.errors import AccordError
from accord.lexicon.analysis import Chain, Lexicon
from accord.lexicon.closed import LIKELY, Closed, looks
from accord.lexicon.guesser import LONGEST, Guesser
from accord.models.common.arrays import load_arrays, narrow, save_arrays
from accord.models.common.files import load_json
from accord.pipeline.base.names import CHAIN, UNKNOWN, UNKNOWN_ID, is_special, is_unknown
from accord.pipeline.model.words import (
    ANALYSES,
    WORDS,
    FrontCoded,
    KnownWords,
    Readings,
    Vocabulary,
    save_analyses,
)

ENDINGS = "endings.npz"
COLUMNS = ["word", "lemma", "upos", "feats", "weight", "source"]


FEWEST = 10  # words of training that a class needs; rarer ones are in the first together
SMALLEST = 0.05  # mean share below which an analysis is not worth keeping


class UnknownClasses:
    """The classes by the names of their unknown words, and the chain that finds a word's class."""

    def __init__(self, names: Sequence[str], chain: Lexicon):
        self.names, self.chain = list(names), chain
        self._id = {name: UNKNOWN_ID + place for place, name in enumerate(names)}

    @classmethod
    def learn(cls, words: Sequence[str], chain: Lexicon) -> "UnknownClasses":
        """Learn the classes from words that stand for the unknown ones."""
        counts = Counter(_names(chain.lookup(words), len(words)))
        names = sorted(name for name, count in counts.items() if count >= FEWEST)
        return cls([UNKNOWN, *(name for name in names if name != UNKNOWN)], chain)

    def ids(self, forms: Sequence[str]) -> np.ndarray:
        """Return the id of the unknown word that each form is read as."""
        names = _names(self.chain.lookup(forms), len(forms))
        return np.array([self._id.get(name, UNKNOWN_ID) for name in names], dtype=np.int64)

    def analyses(self, words: Sequence[str]) -> pd.DataFrame:
        """Return the analyses of each class of unknown words, by their mean share.

        In the first class, which has words of all kinds, only guesses count: analyses of numbers
        and signs would stand for those of words.
        """
        ids, rows = self.ids(words), self.chain.lookup(words)
        rows = rows.assign(lemma="", form=rows["word"], word=ids[rows["word"].to_numpy()])
        rows = rows[(rows["word"] > UNKNOWN_ID) | (rows["source"] == "guesser")]
        keys = ["word", "lemma", "upos", "feats", "source"]
        shares = rows.groupby(keys, observed=True)["weight"].sum().reset_index()
        shares["weight"] /= shares["word"].map(rows.groupby("word")["form"].nunique())
        return shares[shares["weight"] >= SMALLEST]


def _names(rows: pd.DataFrame, count: int) -> list[str]:
    """Return the name of the class of each word, by its likeliest analysis."""
    best = rows.sort_values(["word", "weight"], ascending=[True, False], kind="stable")
    best = best.drop_duplicates("word").set_index("word")
    names = (f"{UNKNOWN} " + best["upos"].astype(str) + " " + best["feats"].astype(str)).str.strip()
    return names.reindex(range(count), fill_value=UNKNOWN).tolist()


class _Answers(Lexicon):
    """A lexicon that answers for any form and lists none."""

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def lookup(self, forms: Sequence[str]) -> pd.DataFrame:
        return self.find(np.asarray(forms, dtype=object))


class _OfLook(_Answers):
    """A guesser that reads all forms as if they had one look."""

    def __init__(self, guesser: Guesser, look: str):
        self.guesser, self.look = guesser, look

    def find(self, forms: np.ndarray) -> pd.DataFrame:
        return self.guesser.guess(np.full(len(forms), self.look, dtype=object), forms)


def write_analysed(types: pd.DataFrame, analyses: pd.DataFrame, chain: Lexicon, out: Path) -> None:
    """Write the known words, their readings and the endings of unknown words for a model folder."""
    words = save_analyses(out / ANALYSES, analyses, types)
    words.save(out / WORDS)
    if len(words.unknown) > 1:
        guesser = chain.guesser if isinstance(chain, Chain) else chain
        guesser = guesser if isinstance(guesser, Guesser) else None
        save_arrays(out / ENDINGS, encode_endings(guesser, words.unknown), packed=True)


def encode_endings(guesser: Guesser | None, classes: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the looks with their endings, and the id of the unknown word that each means."""
    known: dict[str, set[str]] = {look: set() for look in LIKELY}
    for key in () if guesser is None else guesser.suffixes:
        look, _, ending = key.partition(" ")
        known[look].add(ending)
    kept: dict[str, int] = {}
    for look, (_, surety) in LIKELY.items():
        # Where a look is not sure, the ending of a word in small letters decides.
        endings = sorted(known[look] | known["small"] if surety < 1 else known[look])
        if guesser is not None and endings:
            ids = UnknownClasses(classes, _OfLook(guesser, look)).ids(endings)
            kept |= _distinctive(look, dict(zip(endings, ids.tolist(), strict=True)))
    kinds = np.array([kept[key] for key in sorted(kept)], np.int64)
    return {**FrontCoded.encode(sorted(kept)).arrays, "kind": narrow(kinds)}


def _distinctive(look: str, kinds: dict[str, int]) -> dict[str, int]:
    """Return the endings that mean another class than the next shorter known one."""

    def shorter(ending: str) -> int | None:
        ends = (ending[cut:] for cut in range(1, len(ending) + 1))
        return next((kinds[end] for end in ends if end in kinds), None)

    return {f"{look} {end}": kind for end, kind in kinds.items() if shorter(end) != kind}


class Endings(_Answers):
    """Reads any form as its class."""

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
        rows = []
        for place, (look, form) in enumerate(zip(looks(forms), forms, strict=True)):
            # Letter by letter, as Arrow counted the endings: İ is i, not two letters.
            lower = "".join(letter.lower()[0] for letter in form)
            starts = range(max(0, len(lower) - LONGEST), len(lower) + 1)
            keys = (f"{look} {lower[start:]}" for start in starts)
            upos, _, feats = self.means[next((self.kinds[k] for k in keys if k in self.kinds), 0)]
            rows.append((place, "", upos, feats, 1.0, self.name))
        return pd.DataFrame(rows, columns=COLUMNS).astype({"word": np.int64})


class ListedWords(_Answers):
    """The forms of the lexicons, which are known words, and their readings."""

    name, licence = "listed", ""

    def __init__(self, readings: Readings, lowercase: bool):
        self.words, self.readings, self.lowercase = readings.words, readings, lowercase

    def find(self, forms: np.ndarray) -> pd.DataFrame:
        rows = []
        for number, form in enumerate(forms):
            place = self.words.forms.find(form.lower() if self.lowercase else form)
            if place >= 0 and self.words.is_listed(place):
                rows += [(number, "", *values) for values in self.readings.without_lemma(place)]
        return pd.DataFrame(rows, columns=COLUMNS).astype({"word": np.int64})


def read_vocabulary(analysed: Path) -> Vocabulary:
    """Read the words of the stage `analyse`, those of corpus.pretraining included."""
    forms = pd.read_parquet(analysed / "types.parquet", columns=["form"])["form"].tolist()
    known = {form: number for number, form in enumerate(forms) if not is_special(form)}

    def classes() -> UnknownClasses:
        readings = Readings(analysed / ANALYSES, KnownWords.load(analysed / WORDS))
        lookup = load_json(analysed / CHAIN, dict)
        return classes_of(analysed, readings, lookup["names"], lookup["lowercase"])

    unknown = list(takewhile(is_unknown, forms[UNKNOWN_ID:]))
    return Vocabulary(forms, known, unknown, classes)


def classes_of(
    folder: Path, readings: Readings, lexicons: Sequence[str], lowercase: bool
) -> UnknownClasses:
    """Read the classes of unknown words, as lexicons of these names told them apart."""
    unknown = readings.words.unknown
    rules = [Closed(lowercase)] if "closed" in lexicons else []
    guesser = Endings(folder / ENDINGS, unknown) if "guesser" in lexicons else None
    chain = Chain([ListedWords(readings, lowercase), *rules], guesser=guesser)
    return UnknownClasses(unknown, chain)
