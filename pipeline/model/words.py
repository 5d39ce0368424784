"""The words and readings of a model folder: words.npz and analyses.npz; the names of features.

Words lie sorted by form. Only needed forms are decoded: they lie in blocks. The first form of a
block is whole; blocks are searched by bisection. Ids fall in count and rise in form among words of
one count, special words first; only other ids are stored. Nor is b stored where it follows from
counts, signatures and shares.

A word has a set of readings. A lemma is the number of bytes that it shares with the form, and the
rest.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import chain, pairwise, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from accord.errors import AccordError
from accord.models.common.arrays import load_arrays, narrow, save_arrays
from accord.models.common.checks import check_range, nearest
from accord.models.common.files import load_json
from accord.models.data import in_a_row
from accord.models.ngrams import discounted, groups_of
from accord.models.phi import Features
from accord.pipeline.base.names import END, UNKNOWN, UNKNOWN_ID, is_special, is_unknown

if TYPE_CHECKING:
    import pandas as pd

BLOCK = 16  # forms, of which at least the first is whole
KEY = 3  # bytes of a lemma; the lemmas of all forms that begin with them are decoded together
LONGEST = np.iinfo(np.uint16).max  # bytes of a form
AFTER_LETTERS = b"\xff"  # no byte of UTF-8


class FrontCoded(Sequence[str]):
    """Forms by their place in the sorted list, and the place of a form."""

    NAMES = ("shared", "length", "letters")

    def __init__(self, shared: np.ndarray, length: np.ndarray, letters: np.ndarray):
        """Take bytes shared with the preceding form, and the lengths of the rests in `letters`."""
        self.shared, self.length, self.letters = shared, length, letters.tobytes()
        self.ends = np.cumsum(length, dtype=np.int64)
        whole = np.flatnonzero(shared == 0)  # each the first of a block
        self.heads = np.union1d([0], whole)[: len(shared)].tolist()
        if len(shared) != len(length) or self.ends[-1:].sum() != len(self.letters):
            raise AccordError(
                f"forms: expected {len(length):,} that are {len(self.letters):,} bytes long "
                f"together, got {len(shared):,} and {self.ends[-1:].sum():,}"
            )

    @classmethod
    def encode(cls, forms: Sequence[str]) -> "FrontCoded":
        shared, rests, preceding = [], [], b""
        for place, form in enumerate(forms):
            letters = form.encode()
            if len(letters) > LONGEST:
                raise AccordError(f"expected forms of at most {LONGEST:,} bytes, got {form:.50}…")
            shared.append(common_prefix(preceding, letters) if place % BLOCK else 0)
            rests.append(letters[shared[-1] :])
            preceding = letters
        together = np.frombuffer(b"".join(rests), np.uint8)
        return cls(np.array(shared, np.uint16), np.array([*map(len, rests)], np.uint16), together)

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        letters = np.frombuffer(self.letters, np.uint8)
        return {"shared": narrow(self.shared), "length": narrow(self.length), "letters": letters}

    def __len__(self) -> int:
        return len(self.shared)

    def __getitem__(self, place: int) -> str:
        place = range(len(self))[place]
        block = bisect_right(self.heads, place) - 1
        return self._block(block)[place - self.heads[block]].decode(errors="replace")

    def __iter__(self) -> Iterator[str]:
        for block in self._blocks:
            yield from (form.decode(errors="replace") for form in self._block(block))

    def between(self, start: int, end: int) -> list[bytes]:
        first = bisect_right(self.heads, start) - 1
        blocks = range(first, bisect_left(self.heads, end))
        forms = [form for block in blocks for form in self._block(block)]
        return forms[start - self.heads[first] :][: end - start]

    def find(self, form: str) -> int:
        """Return the position of a form, −1 if it is missing."""
        letters = form.encode(errors="surrogatepass")  # halves of characters match nothing
        block = bisect_right(self._blocks, letters, key=self._first) - 1
        forms = self._block(block) if block >= 0 else []
        return self.heads[block] + forms.index(letters) if letters in forms else -1

    def with_forms(self, forms: Sequence[str]) -> tuple["FrontCoded", np.ndarray]:
        """Return the forms with new ones among them, and how many old ones stand before each.

        The new ones, which are sorted, and the forms behind them become whole.
        """
        letters = [form.encode() for form in forms]
        places = np.array([self._lower_bound(form) for form in letters], np.int64)
        shared = np.insert(self.shared, places, 0)
        length = np.insert(self.length.astype(np.int64), places, [*map(len, letters)])
        parts, end = [], 0
        for place in dict.fromkeys(places.tolist()):
            new = [form for form, at in zip(letters, places, strict=True) if at == place]
            start = int(self.ends[place - 1]) if place else 0
            parts += [self.letters[end:start], *new]
            end = start
            if place < len(self):
                follower = place + int(np.searchsorted(places, place, "right"))
                parts.append(self.between(place, place + 1)[0])
                shared[follower], length[follower], end = 0, len(parts[-1]), int(self.ends[place])
        joined = np.frombuffer(b"".join([*parts, self.letters[end:]]), np.uint8)
        return FrontCoded(shared, length, joined), places

    def beginning_with(self, letters: bytes) -> tuple[int, int]:
        """Return the start and end of the forms with this prefix."""
        return self._lower_bound(letters), self._lower_bound(letters + AFTER_LETTERS)

    def _lower_bound(self, letters: bytes) -> int:
        """Return the position of the first form from these bytes on."""
        block = bisect_left(self._blocks, letters, key=self._first) - 1
        return self.heads[block] + bisect_left(self._block(block), letters) if block >= 0 else 0

    @property
    def _blocks(self) -> range:
        return range(len(self.heads))

    def _first(self, block: int) -> bytes:
        place = self.heads[block]
        end = int(self.ends[place])
        return self.letters[end - int(self.length[place]) : end]

    def _block(self, block: int) -> list[bytes]:
        head = self.heads[block]
        places = slice(head, self.heads[block + 1] if block + 1 < len(self.heads) else len(self))
        ends, forms, form = self.ends[places].tolist(), [], b""
        start = ends[0] - int(self.length[head])
        for shared, end in zip(self.shared[places].tolist(), ends, strict=True):
            form = form[:shared] + self.letters[start:end]
            forms.append(form)
            start = end
        return forms


def common_prefix(one: bytes, other: bytes) -> int:
    """Return the number of bytes that two begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


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
    """The ids of known words by form: words with a share of b, but no special ones."""

    def __init__(self, words: "KnownWords"):
        self.words = words

    def __getitem__(self, form: str) -> int:
        place = self.words.forms.find(form)
        if place < 0 or not self._is_known(place, form):
            raise KeyError(form)
        return int(self.words.number[place])

    def _is_known(self, place: int, form: str) -> bool:
        columns = self.words.columns
        return columns["shares"][columns["share"][place]] > 0 and not is_special(form)

    def __len__(self) -> int:
        columns, special = self.words.columns, self.words.place[: 1 + len(self.words.unknown)]
        is_known = columns["shares"][columns["share"]] > 0
        return int(is_known.sum() - is_known[special].sum())

    def __iter__(self) -> Iterator[str]:
        forms = enumerate(self.words.forms)
        return (form for place, form in forms if self._is_known(place, form))


WORDS, ANALYSES = "words.npz", "analyses.npz"
MOST = 1 << 53  # bound of the numbers of a column, so that they are exact as floats
NEEDED = ("count", "unknown", "readings")
COLUMNS = (  # in the order of the forms; all but the first three may be empty
    "count",  # occurrences in training
    "unknown",  # the unknown word of words outside the lexicon, 0 in it
    "readings",  # the set of readings
    "signature",  # in Φ
    "read",  # the signature in ψ, where it differs
    "spelled",  # the class, from 1, of words that the character model was learned from
    "order",  # places by id, where counts and forms do not tell
    "listed",  # whether a lexicon lists a word, where `unknown` does not tell
    "mass",  # b, where it does not follow from the others
    "shares",  # distinct shares of unseen mass
    "share",  # the number of the share of each word
)


class KnownWords:
    """The known words: forms in order, and columns of numbers."""

    def __init__(self, forms: FrontCoded, **columns: np.ndarray):
        """Check the columns; missing ones are empty."""
        self.forms = forms
        self.columns = {name: columns.get(name, np.zeros(0, np.uint8)) for name in COLUMNS}
        for name, column in self.columns.items():
            is_short = name == "shares" or not (len(column) or name in NEEDED)
            if column.ndim != 1 or not (is_short or len(column) == len(forms)):
                raise AccordError(f"{name}: expected {len(forms):,} numbers, got {column.shape}")
            if name in ("mass", "shares"):
                is_float = column.dtype.kind == "f" or not len(column)
                if not is_float or not ((column >= 0) & (column < np.inf)).all():
                    raise AccordError(f"{name}: expected finite numbers from 0 on")
            elif column.dtype.kind not in "iu":
                raise AccordError(f"{name}: expected whole numbers, got {column.dtype}")
            else:
                most = len(self.columns["shares"]) if name == "share" else MOST
                check_range(name, "numbers", column, 0, most)
        order = self.columns["order"]
        if len(order) and not np.array_equal(np.sort(order), np.arange(len(forms))):
            raise AccordError("order: expected each position once")
        if forms.find(END) < 0:
            raise AccordError(f"expected {END} among the words, the end of a sentence")

    @classmethod
    def encode(cls, forms: Sequence[str], **columns: np.ndarray) -> "KnownWords":
        """Encode words in the order of their ids, with some columns."""
        sorted_ids = np.array(sorted(range(len(forms)), key=forms.__getitem__))
        coded = FrontCoded.encode([forms[number] for number in sorted_ids])
        narrowed = {name: narrow(column[sorted_ids]) for name, column in columns.items()}
        words, place = cls(coded, **narrowed), np.argsort(sorted_ids)
        if np.array_equal(words.place, place):
            return words
        return cls(coded, **narrowed, order=narrow(place))

    def with_columns(
        self, share: np.ndarray, mass: np.ndarray, kind: str, shared_by: str, **columns: np.ndarray
    ) -> "KnownWords":
        """Return the words with further columns by id; b is stored if it does not follow."""
        shares, code = np.unique(share[self.number], return_inverse=True)
        by_form = {name: narrow(c[self.number[: len(c)]]) for name, c in columns.items()}
        merged = {**self.columns, **by_form, "shares": shares, "share": narrow(code)}
        words = KnownWords(self.forms, **merged)
        if np.array_equal(words.mass(kind, shared_by), mass):
            return words
        return KnownWords(self.forms, **merged | {"mass": mass[self.number]})

    def with_words(self, forms: Sequence[str], **columns: np.ndarray) -> "KnownWords":
        """Return the words with new ones that a lexicon lists; their ids follow in this order.

        `forms` are sorted. `columns` are by id, of all words.
        """
        coded, places = self.forms.with_forms(forms)
        new = {"listed": 1, "share": int(np.argmax(self.columns["shares"]))}
        merged = {
            name: np.insert(column.astype(np.int64), places, new.get(name, 0))
            for name, column in self.columns.items()
            if len(column) and name not in ("shares", "order", *columns)
        }
        old = self.place + np.searchsorted(places, self.place, "right")
        place = np.concatenate([old, places + np.arange(len(places))]).astype(np.int64)
        for name, column in columns.items():
            merged[name] = np.empty_like(column)
            merged[name][place] = column
        return KnownWords(coded, **merged, shares=self.columns["shares"], order=place)

    def save(self, path: Path) -> None:
        save_arrays(path, {**self.forms.arrays, **self.columns}, packed=True)

    @classmethod
    def load(cls, path: Path) -> "KnownWords":
        arrays = load_arrays(path, [*FrontCoded.NAMES, *COLUMNS])
        try:
            return cls(FrontCoded(*(arrays.pop(name) for name in FrontCoded.NAMES)), **arrays)
        except (ValueError, TypeError) as error:
            raise AccordError(f"{path}: {error}") from None

    def __len__(self) -> int:
        return len(self.forms)

    @cached_property
    def place(self) -> np.ndarray:
        """Return the position of each id in the sorted list."""
        if len(self.columns["order"]):
            return self.columns["order"].astype(np.int64)
        count = self.columns["count"].astype(np.int64)
        special = [self.forms.find(END), *self._unknown]
        count[special] = -1
        seen = np.flatnonzero(count > 0)
        falling = seen[np.argsort(-count[seen], kind="stable")]
        return np.concatenate([special, falling, np.flatnonzero(count == 0)])

    @property
    def _unknown(self) -> Iterator[int]:
        """Yield the positions of the unknown words, which follow each other."""
        place = self.forms.find(UNKNOWN)
        while 0 <= place < len(self) and is_unknown(self.forms[place]):
            if self.columns["unknown"][place]:  # a closed vocabulary has it as a word of the text
                yield place
            place += 1

    @cached_property
    def unknown(self) -> list[str]:
        """Return the unknown words, one for each class; their ids follow END's."""
        return [self.forms[place] for place in self._unknown]

    @cached_property
    def number(self) -> np.ndarray:
        """Return the id of each word of the sorted list."""
        number = np.empty(len(self), np.int64)
        number[self.place] = np.arange(len(self))
        return number

    def column(self, name: str) -> np.ndarray:
        """Return a column by id; empty if the folder lacks it."""
        column = self.columns[name]
        return column[self.place] if len(column) else column

    @property
    def shares(self) -> np.ndarray:
        """Return the share of unseen mass of each word, by id."""
        return self.columns["shares"][self.column("share")]

    def groups(self, shared_by: str) -> np.ndarray:
        """Return the group of each word, by id, in which seen words leave mass to unseen ones."""
        columns = (self.column(name).astype(np.int64) for name in ("count", "signature", "unknown"))
        return groups_of(shared_by, *columns)

    def mass(self, kind: str, shared_by: str) -> np.ndarray:
        """Return b by id, as the stage `background` made it."""
        if len(self.columns["mass"]):
            return self.column("mass")
        if kind == "uniform":
            return np.full(len(self), 1 / len(self))
        return discounted(
            self.column("count").astype(np.float64), self.groups(shared_by), self.shares
        )

    def is_listed(self, place: int) -> bool:
        """Return whether a lexicon lists the form at a position."""
        listed = self.columns["listed"]
        return bool(listed[place] if len(listed) else not self.columns["unknown"][place])


class Vocabulary:
    """The known words of stage `analyse`, and the classes of all others.

    In a closed vocabulary, words of corpus.pretraining alone have ids, which that text needs. After
    pretraining they have no mass and are unknown.
    """

    def __init__(
        self,
        forms: Sequence[str],
        known: Mapping[str, int],
        unknown: Sequence[str],
        classes: Callable[[], Any],
    ):
        """Keep all words by id, the ids of the known ones, and the unknown words in a row.

        `classes` makes the `UnknownClasses` at their first use.
        """
        self.forms, self.known, self.unknown = forms, known, unknown
        self._make_classes = classes

    @property
    def is_open(self) -> bool:
        return bool(self.unknown)

    def knows(self, words: Sequence[str]) -> bool:
        return all(word in self.known for word in words)

    def ids(self, words: Sequence[str]) -> np.ndarray:
        """Return the id of each word, or of the unknown word that stands for it."""
        ids = np.array([self.known.get(word, -1) for word in words], dtype=np.int64)
        lacking = np.flatnonzero(ids < 0)
        if len(lacking):
            others = [words[place] for place in lacking]
            if not self.is_open:
                raise AccordError(f"'{others[0]}' is not known to this closed vocabulary")
            ids[lacking] = UNKNOWN_ID if len(self.unknown) == 1 else self._classes.ids(others)
        return ids

    @cached_property
    def _classes(self) -> Any:
        return self._make_classes()


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
    *texts, weights = zip(*reading, strict=True)
    arrays = {name: np.array(texts, str) for name, texts in zip(TEXTS, texts, strict=True)}
    arrays["weight"] = np.array(weights, np.float64)
    arrays["lengths"] = narrow(np.array([*map(len, sets)]))
    arrays["reading"] = narrow(np.array([*chain.from_iterable(sets)]))
    return arrays, np.array(of_word)


def _encode_lemmas(analyses: "pd.DataFrame", words: KnownWords) -> dict[str, np.ndarray]:
    """Return the lemmas in the order of the sorted forms: shared bytes, and the rest."""
    place = words.place[analyses["word"].to_numpy()]
    order = np.argsort(place, kind="stable")
    forms = [form.encode() for form in words.forms]
    shared, rests = [], []
    for row, lemma in zip(place[order], analyses["lemma"].to_numpy(object)[order], strict=True):
        letters = lemma.encode()
        shared.append(common_prefix(forms[row], letters))
        rests.append(letters[shared[-1] :])
    lengths, letters = np.array([*map(len, rests)]), np.frombuffer(b"".join(rests), np.uint8)
    return dict(zip(LEMMAS, (narrow(np.array(shared)), narrow(lengths), letters), strict=True))


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
            lemmas = self.lemmas.decode(0, [*self.words.forms])
            table["lemma"] = np.array(lemmas, dtype=object)[in_a_row(first, sizes)]
        return pd.DataFrame({name: table[name] for name in columns})

    def of_word(self, number: int) -> list[Reading]:
        """Return the readings of a word, or of a class of unknown words, by its id."""
        return self._decoded(int(self.words.place[number]))

    def of_form(self, form: str) -> list[Reading]:
        """Return the readings of a known word; none of an unknown one."""
        place = self.words.forms.find(form)
        return [] if place < 0 else self._decoded(place)

    def _decoded(self, place: int) -> list[Reading]:
        lemmas = self.lemmas.decode(place, [self.words.forms[place]])
        rows = zip(lemmas, self.without_lemma(place), strict=True)
        return [Reading(lemma, *values) for lemma, values in rows]

    def forms_of(self, lemma: str) -> list[str]:
        """Return the known words that may be a form of a lemma, sorted."""
        places, _ = self._of_lemma(lemma)
        return [self.words.forms[place] for place in np.unique(places).tolist()]

    def of_lemma(self, lemma: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the ids of the words with a lemma, and the place of each reading in the sets."""
        places, entries = self._of_lemma(lemma)
        return self.words.number[places], entries

    def _of_lemma(self, lemma: str) -> tuple[np.ndarray, np.ndarray]:
        rows, first = np.array(self.lemmas.rows(lemma), np.int64), self.lemmas.first
        places = np.searchsorted(first, rows, "right") - 1
        number = self.words.columns["readings"][places]
        return places, self.starts[number] + rows - first[places]

    @cached_property
    def lemmas(self) -> "Lemmas":
        sizes = self.sizes[self.words.columns["readings"]]  # of the sorted forms
        arrays = load_arrays(self.path, [*SETS, *LEMMAS], LEMMAS)
        return Lemmas(self.path, self.words.forms, sizes, *arrays.values())

    def with_readings(
        self, forms: Sequence[str], readings: Mapping[int, Sequence[Reading]], **columns: np.ndarray
    ) -> "Readings":
        """Return the readings with others of some words, by id; new words are read too.

        `forms` and `columns` are those of `KnownWords.with_words`.
        """
        rows = [reading for of_word in readings.values() for reading in of_word]
        ids, sizes = np.array([*readings]), np.array([*map(len, readings.values())])
        other, fields = copy(self), (*TEXTS, "weight")
        first = min(len(self.distinct[name]) for name in fields)
        other.distinct = {}
        for name in fields:
            values = [getattr(row, name) for row in rows]
            other.distinct[name] = np.concatenate([self.distinct[name][:first], values])
        added = first + np.arange(len(rows))
        other.distinct["reading"] = np.concatenate([self.distinct["reading"], added])
        other.sizes = other.distinct["lengths"] = np.concatenate([self.sizes, sizes])
        other.starts = np.cumsum(other.sizes) - other.sizes
        of_word = np.concatenate([self.words.column("readings"), np.zeros(len(forms), np.int64)])
        of_word[ids] = len(self.sizes) + np.arange(len(ids))
        other.words = self.words.with_words(forms, readings=of_word, **columns)
        places = other.words.place
        kept = np.repeat(places[self.words.number], self.sizes[self.words.columns["readings"]])
        coded, lemmas = other.words.forms, [row.lemma for row in rows]
        arrays = self.lemmas.replaced(kept, coded, np.repeat(places[ids], sizes), lemmas)
        of_forms = other.sizes[other.words.columns["readings"]]
        other.lemmas = Lemmas(self.path, coded, of_forms, *arrays)
        return other


class Lemmas:
    """The lemmas of the sorted forms, a row for each reading."""

    def __init__(self, path: Path, forms: FrontCoded, sizes: np.ndarray, *arrays: np.ndarray):
        """Take forms with their numbers of readings, and the arrays LEMMAS."""
        self.forms, self.first = forms, np.concatenate([[0], np.cumsum(sizes)])
        self.shared, self.length, letters = arrays
        self.ends, self.letters = np.cumsum(self.length, dtype=np.int64), letters.tobytes()
        self._by_key: dict[bytes, dict[bytes, list[int]]] = {}
        is_whole = len(self.ends) == len(self.shared) == self.first[-1]
        if not is_whole or self.ends[-1:].sum() != len(self.letters):
            raise AccordError(f"{path}: expected a lemma of every reading")

    def replaced(
        self, kept: np.ndarray, forms: FrontCoded, places: np.ndarray, lemmas: Sequence[str]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the arrays of these lemmas at new places, but for places that have others.

        `kept` has the new place of each row, `places` those of `lemmas` among `forms`.
        """
        letters = [lemma.encode() for lemma in lemmas]
        shared = [
            common_prefix(forms[place].encode(), lemma)
            for place, lemma in zip(places.tolist(), letters, strict=True)
        ]
        rests = [lemma[count:] for lemma, count in zip(letters, shared, strict=True)]
        is_kept = ~np.isin(kept, places)
        order = np.argsort(np.concatenate([kept[is_kept], places]), kind="stable")
        lengths = np.array([*map(len, rests)], np.int64)
        all_lengths = np.concatenate([self.length[is_kept], lengths])[order]
        ends = len(self.letters) + np.cumsum(lengths)
        starts = np.concatenate([(self.ends - self.length)[is_kept], ends - lengths])[order]
        buffer = np.frombuffer(self.letters + b"".join(rests), np.uint8)
        all_shared = np.concatenate([self.shared[is_kept], shared])[order]
        return all_shared, all_lengths, buffer[in_a_row(starts, all_lengths)]

    def decode(self, place: int, forms: Sequence[str]) -> list[str]:
        """Return the lemmas of forms that follow each other from a position on."""
        bounds = self.first[place : place + len(forms) + 1]
        rows = slice(bounds[0], bounds[-1])
        letters = chain.from_iterable(map(repeat, map(str.encode, forms), np.diff(bounds).tolist()))
        columns = self.shared[rows], self.ends[rows] - self.length[rows], self.ends[rows]
        parts = zip(letters, *(column.tolist() for column in columns), strict=True)
        return [
            (form[:shared] + self.letters[start:end]).decode(errors="replace")
            for form, shared, start, end in parts
        ]

    def rows(self, lemma: str) -> list[int]:
        letters = lemma.encode()
        key = letters[:KEY]
        if key not in self._by_key:
            self._by_key[key] = self._decode_key(key)
        return self._by_key[key].get(letters, [])

    def _decode_key(self, key: bytes) -> dict[bytes, list[int]]:
        """Return the rows of all lemmas that begin with a key, by lemma.

        A form that shares s letters with its lemma, and no more, has s letters of the key, and the
        rest of its row begins with the next one. If it shares the whole key, it is decoded.
        """
        by_lemma: dict[bytes, list[int]] = {}
        letters = np.frombuffer(self.letters, np.uint8)
        for shared in range(len(key)):
            start, end = self.first[[*self.forms.beginning_with(key[:shared])]]
            rows = np.arange(start, end) if shared else self._unlike
            rows = rows[(self.shared[rows] == shared) & (self.length[rows] > 0)]
            rows = rows[letters[self.ends[rows] - self.length[rows]] == key[shared]]
            self._add(by_lemma, rows, repeat(key[:shared]))
        start, end = self.forms.beginning_with(key)
        rows = np.arange(*self.first[[start, end]])
        rows = rows[self.shared[rows] >= len(key)]
        forms = self.forms.between(start, end)
        places = np.searchsorted(self.first, rows, "right") - 1 - start
        self._add(by_lemma, rows, (forms[place] for place in places.tolist()))
        return by_lemma

    @cached_property
    def _unlike(self) -> np.ndarray:
        """Return the rows whose lemma shares no letter with the form."""
        return np.flatnonzero((self.shared == 0) & (self.length > 0))

    def _add(
        self, by_lemma: dict[bytes, list[int]], rows: np.ndarray, forms: Iterable[bytes]
    ) -> None:
        """Add rows to their lemmas; `forms` are those of the rows, at least the shared letters."""
        ends = self.ends[rows]
        columns = (rows, self.shared[rows], ends - self.length[rows], ends)
        of_rows = zip(*(column.tolist() for column in columns), strict=True)
        for form, (row, shared, start, end) in zip(forms, of_rows, strict=False):
            by_lemma.setdefault(form[:shared] + self.letters[start:end], []).append(row)


GRAMMAR = re.compile("(?:pos|[A-Z][A-Za-z]*)=[^×]+")  # no lemma, no source, nothing crossed
IDENTITY = "form="  # begins the name of the feature that a word has for itself alone


class NamedFeatures:
    """A Φ with the name of each feature."""

    def __init__(self, phi: Features, names: list[str]):
        self.phi, self.names = phi, names

    @classmethod
    def load(cls, folder: Path) -> "NamedFeatures":
        return cls(Features.load(folder / "phi.npz"), load_json(folder / "names.json", list))

    def row(self, word: int) -> dict[int, float]:
        """Return the features of a word and their values."""
        signature = self.phi.signature[word]
        entries = slice(*self.phi.indptr[signature : signature + 2])
        indices, values = self.phi.indices[entries], self.phi.values[entries]
        return dict(zip(indices.tolist(), values.tolist(), strict=True))

    def named(self, word: int) -> dict[str, float]:
        return {self.names[feature]: value for feature, value in self.row(word).items()}

    def grammar(self, word: int) -> list[str]:
        """Return the grammar of a word by its features: parts of speech, then features of UD."""
        names = [self.names[feature] for feature in self.row(word)]
        simple = [name for name in names if GRAMMAR.fullmatch(name)]
        return sorted(simple, key=lambda name: not name.startswith("pos="))

    def number(self, name: str) -> int:
        if name not in self.names:
            raise AccordError(f"unknown feature '{name}'{nearest(name, self.names)}")
        return self.names.index(name)
