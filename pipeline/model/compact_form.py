"""The arrays of the compact form: words with their columns, Φ by signature, n-grams of letters.

Only forms that are needed are decoded: they lie in blocks, whose first forms are whole and are
searched by bisection.

Ids are not kept: they fall in count, and rise in form among words of one count; special words are
first. Nor is b, which is made of counts, signatures and shares again, to the last bit.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from accord.errors import AccordError
from accord.models.common.arrays import load_arrays
from accord.models.common.checks import check_range
from accord.models.ngrams import Level, discounted, groups_of
from accord.models.phi import Features
from accord.models.spelling.ngram import NGramSpelling, Prefixes
from accord.models.spelling.spelling import Alphabet
from accord.pipeline.base.names import END, UNKNOWN, is_unknown

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


class Numbered(Sequence[str]):
    """The forms by their numbers, which are not those of the sorted list."""

    def __init__(self, forms: FrontCoded, place: np.ndarray):
        self.forms, self.place = forms, place

    def __len__(self) -> int:
        return len(self.place)

    def __getitem__(self, number: int) -> str:
        return self.forms[int(self.place[number])]


class Numbers(Mapping[str, int]):
    """The numbers of the forms that are written: the first `special` ones are not."""

    def __init__(self, forms: FrontCoded, number: np.ndarray, special: int):
        self.forms, self.number, self.special = forms, number, special

    def __getitem__(self, form: str) -> int:
        place = self.forms.find(form)
        number = -1 if place < 0 else int(self.number[place])
        if number < self.special:
            raise KeyError(form)
        return number

    def __len__(self) -> int:
        return len(self.forms) - self.special

    def __iter__(self) -> Iterator[str]:
        numbered = zip(self.forms, self.number.tolist(), strict=True)
        return (form for form, number in numbered if number >= self.special)


def common_prefix(one: bytes, other: bytes) -> int:
    """The number of bytes that two begin with."""
    shorter = min(len(one), len(other))
    if one[:shorter] == other[:shorter]:
        return shorter
    return next(place for place in range(shorter) if one[place] != other[place])


def narrow(numbers: np.ndarray) -> np.ndarray:
    """Whole numbers from 0 on in the fewest bytes that hold them all."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


MOST = 1 << 53  # bound of the numbers of a column, so that they are exact as floats
# In the order of the forms: counts; the class of words outside the lexicon, 0 in it; the
# signature, and that of what is read where it is another; which readings the lexicon gives.
COLUMNS = ("count", "unknown", "signature", "read", "readings")


class CompactWords:
    """The columns in the order of the forms, and the words by their ids."""

    def __init__(
        self, forms: FrontCoded, share: tuple[np.ndarray, np.ndarray], **columns: np.ndarray
    ):
        """`share`: the distinct shares of unseen mass, and which of them each word has."""
        self.forms, self.share, self.columns = forms, share, columns
        for name, column in {**columns, "share": share[1]}.items():
            expected = {len(forms), 0} if name == "read" else {len(forms)}
            if column.ndim != 1 or column.dtype.kind not in "iu" or len(column) not in expected:
                raise AccordError(
                    f"{name}: expected {len(forms):,} whole numbers, got {column.dtype} of the "
                    f"shape {column.shape}"
                )
            check_range(name, "numbers", column, 0, MOST)
        check_range("share", "shares", share[1], 0, len(share[0]))
        if share[0].dtype.kind != "f" or not ((share[0] >= 0) & (share[0] < np.inf)).all():
            raise AccordError("shares: expected finite numbers from 0 on")
        if forms.find(END) < 0:
            raise AccordError(f"expected {END} among the words, the end of a sentence")

    @classmethod
    def encode(cls, forms: list[str], share: np.ndarray, **columns: np.ndarray) -> "CompactWords":
        """From columns by id."""
        order = np.array(sorted(range(len(forms)), key=forms.__getitem__))
        values, code = np.unique(share, return_inverse=True)
        return cls(
            FrontCoded.encode([forms[number] for number in order]),
            (values, narrow(code[order])),
            **{name: narrow(column[order[: len(column)]]) for name, column in columns.items()},
        )

    def save(self, path: Path) -> None:
        shares = {"shares": self.share[0], "share": self.share[1]}
        np.savez_compressed(path, **self.forms.arrays, **shares, **self.columns)

    @classmethod
    def load(cls, path: Path) -> "CompactWords":
        arrays = load_arrays(path, [*FrontCoded.NAMES, "shares", "share", *COLUMNS])
        try:
            forms = FrontCoded(*(arrays.pop(name) for name in FrontCoded.NAMES))
            return cls(forms, (arrays.pop("shares"), arrays.pop("share")), **arrays)
        except (ValueError, TypeError) as error:
            raise AccordError(f"{path}: {error}") from None

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

    def mass(self, kind: str, shared_by: str) -> np.ndarray:
        """b by id, as the stage `background` gave it."""
        if kind == "uniform":
            return np.full(len(self.forms), 1 / len(self.forms))
        names = ("count", "signature", "unknown")
        count, signature, unknown = (self.column(name).astype(np.int64) for name in names)
        group = groups_of(shared_by, count, signature, unknown)
        return discounted(count.astype(np.float64), group, self.shares)


PHI, PSI = "phi.compact.npz", "psi.compact.npz"
PHI_ARRAYS = ("lengths", "indices", "values", "value", "vector", "feature_count")


def save_features(features: Features, path: Path) -> None:
    """All but the signatures of the words and the vectors themselves."""
    values, code = np.unique(features.values, return_inverse=True)
    np.savez_compressed(
        path,
        lengths=narrow(np.diff(features.indptr)),
        indices=narrow(features.indices),
        values=values,
        value=narrow(code),
        vector=narrow(features.vector) if features.dimensions else np.zeros(0, np.uint8),
        feature_count=features.feature_count,
    )


def load_features(path: Path, signature: np.ndarray, vectors: np.ndarray | None) -> Features:
    """With the signature of each word, and the vectors that a dense block is made of."""
    arrays = load_arrays(path, PHI_ARRAYS)
    try:
        dense = ()
        if len(arrays["vector"]):
            if vectors is None:
                raise AccordError("expected the vectors of its dense features, found none")
            dense = vectors, arrays["vector"]
        return Features(
            np.concatenate([[0], np.cumsum(arrays["lengths"], dtype=np.int64)]),
            arrays["indices"],
            arrays["values"][arrays["value"]],
            signature,
            int(arrays["feature_count"]),
            *dense,
        )
    except (ValueError, TypeError, IndexError) as error:
        raise AccordError(f"{path}: {error}") from None


LETTERS = "letters.npz"
LETTER_ARRAYS = (
    *("alphabet", "shares", "length", "level_contexts", "level_keys"),
    *("contexts", "keys", "counts", "children", "entries", "begun"),
)


def save_letters(model: NGramSpelling, path: Path) -> None:
    levels, begun = model.levels, model.begun
    np.savez_compressed(
        path,
        alphabet=np.frombuffer("".join(model.alphabet.letters).encode(), np.uint8),
        shares=model.numbers,
        length=model.length,
        level_contexts=[len(level.contexts) for level in levels],
        level_keys=[len(level.keys) for level in levels],
        contexts=_steps([level.contexts for level in levels]),
        keys=_steps([level.keys for level in levels]),
        counts=narrow(np.concatenate([level.counts for level in levels])),
        children=_steps([begun.children]),
        entries=_steps([begun.entries]),
        begun=narrow(begun.counts),
    )


def _steps(rising: list[np.ndarray]) -> np.ndarray:
    """Rising numbers by how much each is more than the one before."""
    return narrow(np.concatenate([np.diff(each, prepend=0) for each in rising]))


def load_letters(path: Path) -> NGramSpelling:
    arrays = load_arrays(path, LETTER_ARRAYS)
    try:
        return _model(arrays)
    except (ValueError, TypeError, IndexError, UnicodeError) as error:
        raise AccordError(f"{path}: {error}") from None


def _model(arrays: dict[str, np.ndarray]) -> NGramSpelling:
    alphabet = Alphabet(list(arrays["alphabet"].tobytes().decode()))
    symbols, shares = len(alphabet), arrays["shares"].astype(np.float64)
    length = float(arrays["length"])
    if not (len(shares) and ((shares >= 0) & (shares < 1)).all() and 1 <= length < np.inf):
        raise AccordError("expected a share of numbers for each class, and their mean length")
    of_level = {
        "contexts": np.cumsum(arrays["level_contexts"])[:-1],
        "keys": np.cumsum(arrays["level_keys"])[:-1],
        "counts": np.cumsum(arrays["level_keys"])[:-1],
    }
    parts = [np.split(arrays[name], ends) for name, ends in of_level.items()]
    levels: list[Level] = []
    for contexts, keys, counts in zip(*parts, strict=True):
        contexts, keys = (np.cumsum(each, dtype=np.int64) for each in (contexts, keys))
        levels.append(_level(contexts, keys, counts.astype(np.int64), symbols, levels))
    children, entries = (np.cumsum(arrays[n], dtype=np.int64) for n in ("children", "entries"))
    counts = arrays["begun"].astype(np.int64)
    check_range("children", "nodes", children // symbols, 0, len(children) + 1)
    check_range("entries", "nodes", entries // symbols // len(shares), 0, len(children) + 1)
    if len(counts) != len(entries) or not len(counts) or counts.min() < 1:
        raise AccordError(f"begun: expected {len(entries):,} counts from 1 on")
    begun = Prefixes(children, entries, counts, symbols, len(shares))
    return NGramSpelling(alphabet, shares, length, levels, begun)


def _level(
    contexts: np.ndarray, keys: np.ndarray, counts: np.ndarray, symbols: int, below: list[Level]
) -> Level:
    """A level above those that are there."""
    if len(counts) != len(keys) or not len(keys) or counts.min() < (1 if below else 0):
        raise AccordError(f"counts: expected {len(keys):,} counts of n-grams")
    check_range("keys", "contexts", keys // symbols, 0, len(contexts))
    if not below:
        if not np.array_equal(keys, np.arange(symbols)):
            raise AccordError(f"keys: expected all of the {symbols} symbols after nothing")
        return Level(contexts, keys, counts, np.zeros(0, np.int64), symbols)
    check_range("contexts", "contexts", contexts // symbols, 0, len(below[-1].contexts))
    wanted = contexts[keys // symbols] // symbols * symbols + keys % symbols
    shorter = np.searchsorted(below[-1].keys, wanted)
    check_range("keys", "n-grams", shorter, 0, len(below[-1].keys))
    return Level(contexts, keys, counts, shorter, symbols)
