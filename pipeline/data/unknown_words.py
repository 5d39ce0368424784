"""The classes of words that no lexicon lists.

Such a word has the class of its likeliest analysis and, where that is a guess, φ of that class,
whether training has it or not: nothing in φ betrays which words were seen. A class is one unknown
word of the vocabulary, and has those analyses in common that its words of training have, each by
its mean share.

Only the training text is asked: how the other texts write a word is not known before the test.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from accord import lexicon
from accord.pipeline.base.names import UNKNOWN, UNKNOWN_ID

FEWEST = 10  # words of training that a class needs; rarer ones are in the first together
SMALLEST = 0.05  # mean share below which an analysis is not worth keeping


class UnknownClasses:
    """The classes by the names of their unknown words, and the chain that tells them apart."""

    def __init__(self, names: Sequence[str], chain: lexicon.Lexicon | None):
        self.names, self.chain = list(names), chain
        self._id = {name: UNKNOWN_ID + place for place, name in enumerate(names)}

    @classmethod
    def learn(cls, words: Sequence[str], chain: lexicon.Lexicon) -> "UnknownClasses":
        """From words that stand for the unknown ones."""
        found = Counter(_names(chain.lookup(words), len(words)))
        names = sorted(name for name, count in found.items() if count >= FEWEST)
        return cls([UNKNOWN, *(name for name in names if name != UNKNOWN)], chain)

    def ids(self, forms: Sequence[str]) -> np.ndarray:
        """The id of the unknown word that each form is read as."""
        if len(self.names) == 1:
            return np.full(len(forms), UNKNOWN_ID)
        found = _names(self.chain.lookup(forms), len(forms))
        return np.array([self._id.get(name, UNKNOWN_ID) for name in found], dtype=np.int64)

    def analyses(self, words: Sequence[str]) -> pd.DataFrame:
        """The analyses of each class of unknown words, by their mean share.

        In the first class, whose words are of all kinds, numbers and signs would speak for words:
        there only what is guessed counts.
        """
        ids, rows = self.ids(words), self.chain.lookup(words)
        rows = rows.assign(lemma="", form=rows["word"], word=ids[rows["word"].to_numpy()])
        rows = rows[(rows["word"] > UNKNOWN_ID) | (rows["source"] == "guesser")]
        keys = ["word", "lemma", "upos", "feats", "source"]
        shares = rows.groupby(keys, observed=True)["weight"].sum().reset_index()
        shares["weight"] /= shares["word"].map(rows.groupby("word")["form"].nunique())
        return shares[shares["weight"] >= SMALLEST]


def _names(rows: pd.DataFrame, count: int) -> list[str]:
    """The name of the class that the likeliest analysis of each word means."""
    best = rows.sort_values(["word", "weight"], ascending=[True, False], kind="stable")
    best = best.drop_duplicates("word").set_index("word")
    names = (f"{UNKNOWN} " + best["upos"].astype(str) + " " + best["feats"].astype(str)).str.strip()
    return names.reindex(range(count), fill_value=UNKNOWN).tolist()


WRITTEN = "written.parquet"


def save_written(folder: Path, counts: Counter[str]) -> None:
    """Keep, for each lowercased form, its commonest spelling; without capitals if as common."""
    best: dict[str, tuple[int, str]] = {}
    for word, count in counts.items():
        form = word.lower()
        best[form] = max((count, word), best.get(form, (0, "")))  # capitals sort before others
    rows = [(form, word) for form, (_, word) in sorted(best.items())]
    pd.DataFrame(rows, columns=["form", "written"]).to_parquet(folder / WRITTEN)


def read_written(folder: Path, forms: pd.Series) -> pd.Series:
    """The spelling of each form, null where training does not have it."""
    table = pd.read_parquet(folder / WRITTEN).set_index("form")
    return forms.map(table["written"])
