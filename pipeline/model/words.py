"""The words and readings of a model folder: words.npz and analyses.npz.

Words lie sorted by form. Only needed forms are decoded: they lie in blocks. The first form of a
block is whole; blocks are searched by bisection. Ids fall in count and rise in form among words of
one count, special words first; only other ids are stored. Nor is b stored where it follows from
counts, signatures and shares.

A word has a set of readings. A lemma is the number of bytes that it shares with the form, and the
rest.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from accord.errors import AccordError
from accord.models.common.arrays import load_arrays, narrow, save_arrays
from accord.models.common.checks import check_range
from accord.models.data import in_a_row
from accord.models.ngrams import discounted, groups_of
from accord.pipeline.base.names import END, UNKNOWN, is_special, is_unknown

if TYPE_CHECKING:
    import pandas as pd

BLOCK = 16  # forms, of which only the first is whole
LONGEST = np.iinfo(np.uint16).max  # bytes of a form
AFTER_LETTERS = b"\xff"  # no byte of UTF-8


class FrontCoded(Sequence[str]):
    """Forms by their place in the sorted list, and the place of a form."""

    NAMES = ("shared", "length", "letters")

    def __init__(self, shared: np.ndarray, length: np.ndarray, letters: np.ndarray):
        """`shared`: bytes in common with the form before; `length`: further bytes, in `letters`."""
        self.shared, self.length, self.letters = shared, length, letters.tobytes()
        self.ends = np.cumsum(length, dtype=np.int64)
        if len(shared) != len(length) or self.ends[-1:].sum() != len(self.letters):
            raise AccordError(
                f"forms: expected {len(length):,} that are {len(self.letters):,} bytes long "
                f"together, got {len(shared):,} and {self.ends[-1:].sum():,}"
            )

    @classmethod
    def encode(cls, forms: Sequence[str]) -> "FrontCoded":
        """Of forms that are sorted."""
        shared, rests, before = [], [], b""
        for place, form in enumerate(forms):
            letters = form.encode()
            if len(letters) > LONGEST:
                raise AccordError(f"expected forms of at most {LONGEST:,} bytes, got {form:.50}…")
            common = 0 if place % BLOCK == 0 else common_prefix(before, letters)
            shared.append(common)
            rests.append(letters[common:])
            before = letters
        lengths = np.array([len(rest) for rest in rests], np.uint16)
        together = np.frombuffer(b"".join(rests), np.uint8)
        return cls(np.array(shared, np.uint16), lengths, together)

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        letters = np.frombuffer(self.letters, np.uint8)
        return {"shared": narrow(self.shared), "length": narrow(self.length), "letters": letters}

    def __len__(self) -> int:
        return len(self.shared)

    def __getitem__(self, place: int) -> str:
        place = range(len(self))[place]
        return self._block(place // BLOCK)[place % BLOCK].decode(errors="replace")

    def __iter__(self) -> Iterator[str]:
        for block in range(-(-len(self) // BLOCK)):
            yield from (form.decode(errors="replace") for form in self._block(block))

    def find(self, form: str) -> int:
        """The position of a form, −1 if it is missing."""
        letters = form.encode(errors="surrogatepass")  # halves of characters match nothing
        blocks = range(-(-len(self) // BLOCK))
        block = bisect_right(blocks, letters, key=self._first) - 1
        if block < 0:
            return -1
        forms = self._block(block)
        return block * BLOCK + forms.index(letters) if letters in forms else -1

    def beginning_with(self, letters: bytes) -> tuple[int, int]:
        """Where the forms that begin with these bytes start, and where they end."""
        return self._lower_bound(letters), self._lower_bound(letters + AFTER_LETTERS)

    def _lower_bound(self, letters: bytes) -> int:
        """The position of the first form that is not before these bytes."""
        block = bisect_left(range(-(-len(self) // BLOCK)), letters, key=self._first) - 1
        return block * BLOCK + bisect_left(self._block(block), letters) if block >= 0 else 0

    def _first(self, block: int) -> bytes:
        end = int(self.ends[block * BLOCK])
        return self.letters[end - int(self.length[block * BLOCK]) : end]

    def _block(self, block: int) -> list[bytes]:
        places = slice(block * BLOCK, (block + 1) * BLOCK)
        ends, forms, before = self.ends[places].tolist(), [], b""
        start = ends[0] - int(self.length[block * BLOCK])
        for shared, end in zip(self.shared[places].tolist(), ends, strict=True):
            before = before[:shared] + self.letters[start:end]
            forms.append(before)
            start = end
        return forms


def common_prefix(one: bytes, other: bytes) -> int:
    """Return the number of bytes that two begin with."""
    shorter = min(len(one), len(other))
    if one[:shorter] == other[:shorter]:
        return shorter
    return next(place for place in range(shorter) if one[place] != other[place])


class FormsById(Sequence[str]):
    """The forms by id."""

    def __init__(self, words: "KnownWords"):
        self.words = words

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, number: int) -> str:
        return self.words.forms[int(self.words.place[number])]

    def __iter__(self) -> Iterator[str]:
        forms = list(self.words.forms)
        return (forms[place] for place in self.words.place)


class KnownIds(Mapping[str, int]):
    """The ids of known words by form. Special words, and those without a share of b, are not."""

    def __init__(self, words: "KnownWords"):
        self.words, self.special = words, 1 + len(words.unknown)

    def __getitem__(self, form: str) -> int:
        place = self.words.forms.find(form)
        if place < 0 or not self._is_known(place, form):
            raise KeyError(form)
        return int(self.words.number[place])

    def _is_known(self, place: int, form: str) -> bool:
        values, code = self.words.share
        return values[code[place]] > 0 and not is_special(form)

    def __len__(self) -> int:
        values, code = self.words.share
        known = int((values > 0)[code].sum())
        return known - sum(self._is_known(place, "") for place in self.words.place[: self.special])

    def __iter__(self) -> Iterator[str]:
        forms = enumerate(self.words.forms)
        return (form for place, form in forms if self._is_known(place, form))


WORDS, ANALYSES = "words.npz", "analyses.npz"
MOST = 1 << 53  # bound of the numbers of a column, so that they are exact as floats
# In the order of the forms: occurrences in training; the unknown word of words outside the lexicon,
# 0 in it; the set of readings; signatures in Φ and, where it differs, in ψ; the class, from 1, of
# words that the character model was learned from.
COLUMNS = ("count", "unknown", "readings", "signature", "read", "spelled")
# Further ones, empty where they follow from the others: places by id; whether a lexicon lists a
# word; b. The shares of unseen mass are distinct values and their numbers.
DERIVED = ("order", "listed", "mass")
SHARES = ("shares", "share")


class KnownWords:
    """The known words: forms in order, and columns of numbers."""

    def __init__(self, forms: FrontCoded, share: tuple[np.ndarray, np.ndarray], **columns):
        """Check the columns; those of COLUMNS and DERIVED that are missing are empty."""
        none = np.zeros(0, np.uint8)
        self.forms, self.share = forms, share
        self.columns = {name: columns.pop(name, none) for name in (*COLUMNS, *DERIVED)}
        if columns:
            raise TypeError(f"unknown columns: {', '.join(columns)}")
        self.stored_mass = self.columns.pop("mass")
        for name, column in {**self.columns, "share": share[1]}.items():
            if column.ndim != 1 or column.dtype.kind not in "iu" or not self._fits(name, column):
                raise AccordError(
                    f"{name}: expected {len(forms):,} whole numbers, got {column.dtype} of the "
                    f"shape {column.shape}"
                )
            check_range(name, "numbers", column, 0, MOST)
        check_range("share", "shares", share[1], 0, len(share[0]))
        for name, values in {"shares": share[0], "mass": self.stored_mass}.items():
            is_float = values.dtype.kind == "f" or not len(values)
            if not is_float or not ((values >= 0) & (values < np.inf)).all():
                raise AccordError(f"{name}: expected finite numbers from 0 on")
        if len(self.stored_mass) not in (0, len(forms)):
            raise AccordError(f"mass: expected {len(forms):,} numbers")
        order = self.columns["order"]
        if len(order) and not np.array_equal(np.sort(order), np.arange(len(forms))):
            raise AccordError("order: expected each position once")
        if forms.find(END) < 0:
            raise AccordError(f"expected {END} among the words, the end of a sentence")

    def _fits(self, name: str, column: np.ndarray) -> bool:
        may_lack = name not in ("count", "unknown", "readings")
        return len(column) == len(self.forms) or (may_lack and not len(column))

    @classmethod
    def encode(cls, forms: Sequence[str], **columns: np.ndarray) -> "KnownWords":
        """Encode words in the order of their ids, with some columns."""
        sorted_ids = np.array(sorted(range(len(forms)), key=forms.__getitem__))
        words = cls(
            FrontCoded.encode([forms[number] for number in sorted_ids]),
            (np.zeros(0), np.zeros(0, np.uint8)),
            **{name: narrow(column[sorted_ids]) for name, column in columns.items()},
        )
        place = np.argsort(sorted_ids)
        if not np.array_equal(words.place, place):
            words.columns["order"] = narrow(place)
            words.__dict__.pop("place")
        return words

    def with_columns(
        self, share: np.ndarray, mass: np.ndarray, kind: str, shared_by: str, **columns: np.ndarray
    ) -> "KnownWords":
        """Return the words with further columns by id; b is stored if it does not follow."""
        values, code = np.unique(share[self.number], return_inverse=True)
        by_form = {name: narrow(c[self.number[: len(c)]]) for name, c in columns.items()}
        words = KnownWords(self.forms, (values, narrow(code)), **{**self.columns, **by_form})
        if not np.array_equal(words.mass(kind, shared_by), mass):
            words.stored_mass = mass[self.number]
        return words

    def save(self, path: Path) -> None:
        arrays = {**self.forms.arrays, **self.columns, "mass": self.stored_mass}
        save_arrays(path, {**arrays, **dict(zip(SHARES, self.share, strict=True))}, packed=True)

    @classmethod
    def load(cls, path: Path) -> "KnownWords":
        arrays = load_arrays(path, [*FrontCoded.NAMES, *SHARES, *COLUMNS, *DERIVED])
        try:
            forms = FrontCoded(*(arrays.pop(name) for name in FrontCoded.NAMES))
            return cls(forms, (arrays.pop("shares"), arrays.pop("share")), **arrays)
        except (ValueError, TypeError) as error:
            raise AccordError(f"{path}: {error}") from None

    def __len__(self) -> int:
        return len(self.forms)

    @cached_property
    def place(self) -> np.ndarray:
        """The position of each id in the sorted list."""
        if len(self.columns["order"]):
            return self.columns["order"].astype(np.int64)
        count = self.columns["count"].astype(np.int64)
        special = [self.forms.find(END), *self._unknown()]
        count[special] = -1
        seen = np.flatnonzero(count > 0)
        falling = seen[np.argsort(-count[seen], kind="stable")]
        return np.concatenate([special, falling, np.flatnonzero(count == 0)])

    def _unknown(self) -> Iterator[int]:
        """Yield the positions of the unknown words, which follow each other."""
        place = self.forms.find(UNKNOWN)
        while 0 <= place < len(self) and is_unknown(self.forms[place]):
            if self.columns["unknown"][place]:  # a closed vocabulary has it as a word of the text
                yield place
            place += 1

    @cached_property
    def unknown(self) -> list[str]:
        """The unknown words, one for each class; their ids follow that of the sentence's end."""
        return [self.forms[place] for place in self._unknown()]

    @cached_property
    def number(self) -> np.ndarray:
        """The id of each word of the sorted list."""
        number = np.empty(len(self), np.int64)
        number[self.place] = np.arange(len(self))
        return number

    def column(self, name: str) -> np.ndarray:
        """Return a column by id; empty if the folder lacks it."""
        column = self.columns[name]
        return column[self.place] if len(column) else column

    @property
    def shares(self) -> np.ndarray:
        """The share of unseen mass of each word, by id."""
        values, code = self.share
        return values[code[self.place]]

    def groups(self, shared_by: str) -> np.ndarray:
        """Return the group of each word, by id, in which seen words leave mass to unseen ones."""
        columns = (self.column(name).astype(np.int64) for name in ("count", "signature", "unknown"))
        return groups_of(shared_by, *columns)

    def mass(self, kind: str, shared_by: str) -> np.ndarray:
        """Return b by id, as the stage `background` made it."""
        if len(self.stored_mass):
            return self.stored_mass[self.place]
        if kind == "uniform":
            return np.full(len(self), 1 / len(self))
        return discounted(
            self.column("count").astype(np.float64), self.groups(shared_by), self.shares
        )

    def is_listed(self, place: int) -> bool:
        """Return whether a lexicon lists the form at a position."""
        listed = self.columns["listed"]
        return bool(listed[place] if len(listed) else not self.columns["unknown"][place])


class Reading(NamedTuple):
    """What a form may be; a lemma that was only guessed is empty."""

    lemma: str
    upos: str
    feats: str
    weight: float  # among the readings of the form
    source: str  # the lexicon


TEXTS = ("upos", "feats", "source")
SETS = (*TEXTS, "weight", "lengths", "reading")
LEMMAS = ("lemma_shared", "lemma_length", "lemma_letters")


def save_analyses(
    path: Path, analyses: "pd.DataFrame", types: "pd.DataFrame", **columns: np.ndarray
) -> KnownWords:
    """Write the readings of all words to a file; return the words with their set of readings."""
    analyses = analyses.sort_values("word", kind="stable")
    sets, of_word = _encode_sets(analyses, len(types))
    counts = types["count"].to_numpy(np.int64)
    unknown = types.get("unknown", types["count"] * 0).to_numpy(np.int64)
    words = KnownWords.encode(
        types["form"].tolist(), count=counts, unknown=unknown, readings=of_word, **columns
    )
    save_arrays(path, sets | _encode_lemmas(analyses, words), packed=True)
    return words


def _encode_sets(analyses: "pd.DataFrame", words: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the distinct readings and sets of them, and the set of each word by id."""
    rows = list(zip(*(analyses[name] for name in (*TEXTS, "weight")), strict=True))
    reading = {row: number for number, row in enumerate(dict.fromkeys(rows))}
    numbers = [reading[row] for row in rows]
    starts = np.searchsorted(analyses["word"].to_numpy(), np.arange(words + 1)).tolist()
    sets: dict[tuple[int, ...], int] = {}
    of_word = [
        sets.setdefault(tuple(numbers[start:end]), len(sets)) for start, end in pairwise(starts)
    ]
    columns = dict(zip((*TEXTS, "weight"), zip(*reading, strict=True), strict=True))
    arrays = {name: np.array(columns[name], str) for name in TEXTS}
    arrays["weight"] = np.array(columns["weight"], np.float64)
    arrays["lengths"] = narrow(np.array([len(chosen) for chosen in sets]))
    arrays["reading"] = narrow(np.array([number for chosen in sets for number in chosen]))
    return arrays, np.array(of_word)


def _encode_lemmas(analyses: "pd.DataFrame", words: KnownWords) -> dict[str, np.ndarray]:
    """Return the lemmas in the order of the sorted forms: shared bytes, and the rest."""
    place = words.place[analyses["word"].to_numpy()]
    order = np.argsort(place, kind="stable")
    forms = [form.encode() for form in words.forms]
    shared, rests = [], []
    for at, lemma in zip(place[order], analyses["lemma"].to_numpy(object)[order], strict=True):
        letters = lemma.encode()
        shared.append(common_prefix(forms[at], letters))
        rests.append(letters[shared[-1] :])
    return {
        "lemma_shared": narrow(np.array(shared)),
        "lemma_length": narrow(np.array([len(rest) for rest in rests])),
        "lemma_letters": np.frombuffer(b"".join(rests), np.uint8),
    }


class Readings:
    """The readings of known words, decoded when needed."""

    def __init__(self, path: Path, words: KnownWords):
        self.path, self.words = path, words
        self.distinct = load_arrays(path, [*SETS, *LEMMAS], SETS)
        self.sizes = self.distinct["lengths"].astype(np.int64)
        self.starts = np.cumsum(self.sizes) - self.sizes
        count = min(len(self.distinct[name]) for name in (*TEXTS, "weight"))
        check_range(f"{path}: reading", "readings", self.distinct["reading"], 0, count)
        check_range(f"{path}: sets", "sets", words.columns["readings"], 0, len(self.sizes))
        if self.sizes.sum() != len(self.distinct["reading"]):
            raise AccordError(f"{path}: expected sets of {self.sizes.sum():,} readings in all")

    def without_lemma(self, place: int) -> list[tuple[str, str, float, str]]:
        """Return part of speech, features, weight and source of the form at a position."""
        number = self.words.columns["readings"][place]
        chosen = self.distinct["reading"][self.starts[number] :][: self.sizes[number]]
        columns = ("upos", "feats", "weight", "source")
        return list(zip(*(self.distinct[name][chosen].tolist() for name in columns), strict=True))

    def table(self, columns: Sequence[str]) -> "pd.DataFrame":
        """Return a row for each reading of each word, by id."""
        import pandas as pd  # here, as words are looked up one by one without tables

        of_word = self.words.column("readings")
        sizes = self.sizes[of_word]
        reading = self.distinct["reading"][in_a_row(self.starts[of_word], sizes)]
        table = {"word": np.repeat(np.arange(len(sizes)), sizes)}
        for name in TEXTS:
            kinds, number = np.unique(self.distinct[name], return_inverse=True)
            table[name] = pd.Categorical.from_codes(number[reading], kinds.astype(object))
        table["weight"] = self.distinct["weight"][reading]
        if "lemma" in columns:
            first = self.lemmas.first[:-1][self.words.place]
            table["lemma"] = np.array(self.lemmas.every(), dtype=object)[in_a_row(first, sizes)]
        return pd.DataFrame({name: table[name] for name in columns})

    def of_word(self, number: int) -> list[Reading]:
        """Return the readings of a word, or of a class of unknown words, by its id."""
        return self._at(int(self.words.place[number]))

    def of_form(self, form: str) -> list[Reading]:
        """Return the readings of a known word; none of an unknown one."""
        place = self.words.forms.find(form)
        return [] if place < 0 else self._at(place)

    def _at(self, place: int) -> list[Reading]:
        lemmas = self.lemmas.at(place, self.words.forms[place])
        rows = zip(lemmas, self.without_lemma(place), strict=True)
        return [Reading(lemma, *values) for lemma, values in rows]

    def forms_of(self, lemma: str) -> list[str]:
        """Return the known words that may be a form of a lemma, sorted."""
        return [self.words.forms[place] for place in self.lemmas.places(lemma)]

    @cached_property
    def lemmas(self) -> "Lemmas":
        in_order = self.sizes[self.words.columns["readings"]]  # of the sorted forms
        return Lemmas(self.path, self.words.forms, in_order)


class Lemmas:
    """The lemmas of the sorted forms, a row for each reading."""

    def __init__(self, path: Path, forms: FrontCoded, sizes: np.ndarray):
        """`sizes`: how many readings each form has."""
        self.forms, self.first = forms, np.concatenate([[0], np.cumsum(sizes)])
        arrays = load_arrays(path, [*SETS, *LEMMAS], LEMMAS)
        self.shared, self.length, self._bytes = (arrays[name] for name in LEMMAS)
        self.ends = np.cumsum(self.length, dtype=np.int64)
        self.letters = self._bytes.tobytes()
        rows = self.first[-1]
        if not len(self.ends) == len(self.shared) == rows or self.ends[-1:].sum() != len(
            self.letters
        ):
            raise AccordError(f"{path}: expected a lemma of every reading")

    def at(self, place: int, form: str) -> list[str]:
        """The lemmas of the form at a place."""
        letters, rows = form.encode(), range(*self.first[place : place + 2].tolist())
        return [
            (letters[: self.shared[row]] + self._rest(row)).decode("utf-8", "replace")
            for row in rows
        ]

    def every(self) -> list[str]:
        sizes = np.diff(self.first)
        letters = (
            form.encode()
            for form, size in zip(self.forms, sizes.tolist(), strict=True)
            for _ in range(size)
        )
        starts = (self.ends - self.length).tolist()
        rows = zip(letters, self.shared.tolist(), starts, self.ends.tolist(), strict=True)
        return [
            (form[:shared] + self.letters[start:end]).decode(errors="replace")
            for form, shared, start, end in rows
        ]

    def places(self, lemma: str) -> list[int]:
        """The places of the forms of a lemma.

        A form that shares s letters with its lemma, and no more, lies among those that begin with
        them, and the rest of its row is the rest of the lemma. So only such rows are compared.
        """
        letters, found = lemma.encode(), []
        for shared in range(len(letters) + 1):
            first, end = self.forms.beginning_with(letters[:shared])
            if first == end:
                break
            rows = self._sharing(shared, int(self.first[first]), int(self.first[end]))
            rows = rows[self.length[rows] == len(letters) - shared]
            if shared < len(letters):  # most others end in another letter
                rows = rows[self._bytes[self.ends[rows] - 1] == letters[-1]]
            found += [row for row in rows.tolist() if self._rest(row) == letters[shared:]]
        return np.unique(np.searchsorted(self.first, found, "right") - 1).tolist()

    def _sharing(self, shared: int, start: int, end: int) -> np.ndarray:
        """The rows among those from start to end that share so many letters with their lemma."""
        if not shared:  # every row is among these
            return self._suppletive
        return start + np.flatnonzero(self.shared[start:end] == shared)

    @cached_property
    def _suppletive(self) -> np.ndarray:
        """The rows that share no letter with their lemma: ai and avoir."""
        return np.flatnonzero(self.shared == 0)

    def _rest(self, row: int) -> bytes:
        end = int(self.ends[row])
        return self.letters[end - int(self.length[row]) : end]
