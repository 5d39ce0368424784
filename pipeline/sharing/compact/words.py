"""The known words of a model, sorted by form: how often each was seen, and what is told by number.

Ids are not kept: they fall in count, and rise in form among words of one count; special words are
first. Nor is b, which is made of counts, signatures and shares again, to the last bit.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np

from accord.models.background.prior import discounted
from accord.models.common.checks import check_range
from accord.models.common.files.arrays import load_arrays
from accord.pipeline.prepared.special_words import END, UNKNOWN, is_unknown
from accord.pipeline.sharing.compact.forms import Forms, narrow

MOST = 1 << 53  # what any number of a column is below, so that it is exact as a float
# In the order of the forms: counts; the class of words outside the lexicon, 0 in it; the
# signature, and that of what is read where it is another; which readings the lexicon gives.
COLUMNS = ("count", "unknown", "signature", "read", "readings")


class Words:
    """The columns in the order of the forms, and the words by their ids."""

    def __init__(self, forms: Forms, share: tuple[np.ndarray, np.ndarray], **columns: np.ndarray):
        """`share`: the distinct shares of unseen mass, and which of them each word has."""
        self.forms, self.share, self.columns = forms, share, columns
        for name, column in {**columns, "share": share[1]}.items():
            expected = {len(forms), 0} if name == "read" else {len(forms)}
            if column.ndim != 1 or column.dtype.kind not in "iu" or len(column) not in expected:
                raise ValueError(
                    f"{name}: expected {len(forms):,} whole numbers, got {column.dtype} of the "
                    f"shape {column.shape}"
                )
            check_range(name, "numbers", column, 0, MOST)
        check_range("share", "shares", share[1], 0, len(share[0]))
        if share[0].dtype.kind != "f" or not ((share[0] >= 0) & (share[0] < np.inf)).all():
            raise ValueError("shares: expected finite numbers from 0 on")
        if forms.find(END) < 0:
            raise ValueError(f"expected {END} among the words, the end of a sentence")

    @classmethod
    def encode(cls, forms: list[str], share: np.ndarray, **columns: np.ndarray) -> "Words":
        """From columns by id."""
        order = np.array(sorted(range(len(forms)), key=forms.__getitem__))
        values, code = np.unique(share, return_inverse=True)
        return cls(
            Forms.encode([forms[number] for number in order]),
            (values, narrow(code[order])),
            **{name: narrow(column[order[: len(column)]]) for name, column in columns.items()},
        )

    def save(self, path: Path) -> None:
        shares = {"shares": self.share[0], "share": self.share[1]}
        np.savez_compressed(path, **self.forms.arrays, **shares, **self.columns)

    @classmethod
    def load(cls, path: Path) -> "Words":
        arrays = load_arrays(path, [*Forms.NAMES, "shares", "share", *COLUMNS])
        try:
            forms = Forms(*(arrays.pop(name) for name in Forms.NAMES))
            return cls(forms, (arrays.pop("shares"), arrays.pop("share")), **arrays)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path}: {error}") from None

    @cached_property
    def place(self) -> np.ndarray:
        """Where the word of each id stands in the sorted list."""
        count = self.columns["count"].astype(np.int64)
        special = [self.forms.find(END), *self._unknown()]
        count[special] = -1
        seen = np.flatnonzero(count > 0)
        falling = seen[np.argsort(-count[seen], kind="stable")]
        return np.concatenate([special, falling, np.flatnonzero(count == 0)])

    def _unknown(self) -> Iterator[int]:
        """Where the unknown words stand: in a row, as they begin alike."""
        place = self.forms.find(UNKNOWN)
        while 0 <= place < len(self.forms) and is_unknown(self.forms[place]):
            yield place
            place += 1

    @cached_property
    def unknown(self) -> list[str]:
        """The unknown words, whose ids follow that of the sentence's end."""
        return [self.forms[place] for place in self._unknown()]

    @cached_property
    def number(self) -> np.ndarray:
        """The id of each word of the sorted list."""
        number = np.empty(len(self.place), np.int64)
        number[self.place] = np.arange(len(self.place))
        return number

    def column(self, name: str) -> np.ndarray:
        """By id."""
        return self.columns[name][self.place]

    @property
    def shares(self) -> np.ndarray:
        """Of unseen mass, by id."""
        values, code = self.share
        return values[code[self.place]]

    def mass(self, kind: str) -> np.ndarray:
        """b by id, as the stage `background` gave it."""
        if kind == "uniform":
            return np.full(len(self.forms), 1 / len(self.forms))
        unknown, signature = self.column("unknown").astype(np.int64), self.column("signature")
        group = np.where(unknown > 0, len(signature) + unknown, signature)
        present = np.bincount(group) > 0
        group = (np.cumsum(present) - 1)[group]
        return discounted(self.column("count").astype(np.float64), group, self.shares)
