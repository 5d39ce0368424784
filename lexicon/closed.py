"""Closed classes and shapes: what a text has everywhere and no dictionary should have to list."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from lexicon.analysis import Analysis, Lexicon, Request
from lexicon.closed_words import WORDS
from lexicon.shape import SIGNS, signs, sure

# A tokeniser leaves the hyphen, and the t that only sound asks for, on the pronoun: `-t-il`.
AFTER_T = ("il", "elle", "on", "ils", "elles", "y", "en")
CLITICS = ("je", "moi", "m'", "tu", "toi", "t'", "nous", "vous", "ce", "le", "la", "les", "lui")
CLITICS += ("leur", *AFTER_T)

# Ordinary words, small or capitalised, have no shape to look at: most forms stop here.
ORDINARY = r"^[A-ZÀ-ÞŒ]?[a-zß-öø-ÿœ]+('?[a-zß-öø-ÿœ]+)?$"
MAYBE_ROMAN = r"^[ivxlcdmIVXLCDM]+(er?|re|ère|è|ème|eme)?s?$"
TEXTS = ("lemma", "upos", "feats", "source")  # columns


def clitics() -> dict[str, tuple[Analysis, ...]]:
    pronouns = {
        word: tuple(each for each in WORDS[word] if each.upos == "PRON") for word in CLITICS
    }
    hyphened = {f"-{word}": analyses for word, analyses in pronouns.items()}
    return hyphened | {f"-t-{word}": pronouns[word] for word in AFTER_T}


class Closed(Lexicon):
    """Function words, clitics, numbers, dates, signs, abbreviations; in any case but their own."""

    name = "closed"
    licence = "MIT"

    def __init__(self, lowercase: bool = False):
        self.lowercase = lowercase
        self._words: dict[str, tuple[Analysis, ...]] = {}
        listed = WORDS | clitics() | {sign: signs(sign) for sign in SIGNS.split()}
        for form, analyses in listed.items():
            key = form.lower() if lowercase else form
            self._words[key] = tuple(dict.fromkeys(self._words.get(key, ()) + analyses))

    def __len__(self) -> int:
        return len(self._words)

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)

    def exact(self, form: str) -> tuple[Analysis, ...]:
        return self._word(form) or sure(form, self.lowercase)

    def _word(self, form: str) -> tuple[Analysis, ...]:
        return self._words.get(form) or self._words.get(form.lower(), ())

    def find(self, forms: np.ndarray) -> pd.DataFrame:
        found = [self._word(form) for form in forms]
        words = pa.array(forms, pa.string())
        plain = pc.match_substring_regex(words, ORDINARY)
        roman = pc.match_substring_regex(words, MAYBE_ROMAN)
        for position in np.flatnonzero(pc.or_(pc.invert(plain), roman)):
            found[position] = found[position] or sure(forms[position], self.lowercase)
        rows = [(place, *each) for place, analyses in enumerate(found) for each in analyses]
        table = pd.DataFrame(rows, columns=["word", *Analysis._fields]).assign(source=self.name)
        return table.astype({"word": np.int64, "weight": np.float32, **dict.fromkeys(TEXTS, str)})


def closed(request: Request) -> Closed:
    return Closed(request.lowercase)
