"""A sorted list of forms, front-coded: each is what it shares with the one before it, and the rest.

Only the forms that are asked for are ever decoded: they lie in blocks, whose first forms are whole
and are searched by bisection.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

BLOCK = 16  # forms, of which only the first is whole
LONGEST = np.iinfo(np.uint16).max  # bytes of a form


class Forms(Sequence[str]):
    """Forms by their place in the sorted list, and the place of a form."""

    NAMES = ("shared", "length", "letters")

    def __init__(self, shared: np.ndarray, length: np.ndarray, letters: np.ndarray):
        """How many bytes each form shares with the one before, how many follow, and these."""
        self.shared, self.length, self.letters = shared, length, letters.tobytes()
        self.ends = np.cumsum(length, dtype=np.int64)
        if len(shared) != len(length) or self.ends[-1:].sum() != len(self.letters):
            raise ValueError(
                f"forms: expected {len(length):,} that are {len(self.letters):,} bytes long "
                f"together, got {len(shared):,} and {self.ends[-1:].sum():,}"
            )

    @classmethod
    def encode(cls, forms: Sequence[str]) -> "Forms":
        """Of forms that are sorted."""
        shared, rests, before = [], [], b""
        for place, form in enumerate(forms):
            letters = form.encode()
            if len(letters) > LONGEST:
                raise ValueError(f"expected forms of at most {LONGEST:,} bytes, got {form:.50}…")
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
        """The place of a form, −1 if it is not there."""
        letters = form.encode(errors="surrogatepass")  # halves of characters match nothing
        blocks = range(-(-len(self) // BLOCK))
        block = bisect_right(blocks, letters, key=self._first) - 1
        if block < 0:
            return -1
        forms = self._block(block)
        return block * BLOCK + forms.index(letters) if letters in forms else -1

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

    def __init__(self, forms: Forms, place: np.ndarray):
        self.forms, self.place = forms, place

    def __len__(self) -> int:
        return len(self.place)

    def __getitem__(self, number: int) -> str:
        return self.forms[int(self.place[number])]


class Numbers(Mapping[str, int]):
    """The numbers of the forms that are written: the first `special` ones are not."""

    def __init__(self, forms: Forms, number: np.ndarray, special: int):
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
    """How many bytes two begin with alike."""
    shorter = min(len(one), len(other))
    if one[:shorter] == other[:shorter]:
        return shorter
    return next(place for place in range(shorter) if one[place] != other[place])


def narrow(numbers: np.ndarray) -> np.ndarray:
    """Whole numbers from 0 on in the fewest bytes that hold them all."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))
