"""The other known forms of a word that differ in gender, number or person, and nothing else."""

import re

import numpy as np
import pandas as pd

from accord.lexicon.paradigm import AGREEING, inflected
from accord.pipeline.prepared.special_words import is_special
from accord.pipeline.prepared.vocabulary import Vocabulary

AGREEMENT = re.compile(rf"(?:^|\|)(?:{'|'.join(AGREEING)})=[^|]*")


class KnownParadigms:
    """The analyses that a model has of its known words, gathered by lemma."""

    COLUMNS = ("word", "lemma", "upos", "feats")

    def __init__(self, vocabulary: Vocabulary, rows: pd.DataFrame):
        """`rows` are the analyses, whose parts of speech and features are categories."""
        self.vocabulary = vocabulary
        rows = inflected(rows[rows["lemma"].astype(str) != ""])  # guesses know none
        # What is left of the features must be the same.
        rest = rows["feats"].cat.categories.map(lambda feats: AGREEMENT.sub("", feats).strip("|"))
        rest = rest.to_numpy()[rows["feats"].cat.codes]
        cell = pd.factorize(rows["lemma"].astype(str) + " " + rows["upos"] + " " + rest)[0]
        word = rows["word"].to_numpy()
        self._by_word = _Groups(word, cell)
        self._by_cell = _Groups(cell, word)

    def others(self, form: str) -> set[str]:
        """The forms that might stand for this one where it does not agree."""
        number = self.vocabulary.known.get(form)
        if number is None:
            return set()
        found = {w for cell in self._by_word[number] for w in self._by_cell[cell]} - {number}
        others = (self.vocabulary.forms[word] for word in found)
        is_enclitic = form.startswith("-")  # -il stands where il cannot
        return {o for o in others if not is_special(o) and o.startswith("-") == is_enclitic}


class _Groups:
    """The values of each key."""

    def __init__(self, keys: np.ndarray, values: np.ndarray):
        order = np.argsort(keys, kind="stable")
        self._keys, self._values = keys[order], values[order]

    def __getitem__(self, key: int) -> list[int]:
        first, end = np.searchsorted(self._keys, [key, key + 1])
        return self._values[first:end].tolist()
