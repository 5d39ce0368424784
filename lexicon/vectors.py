"""Word vectors of a published file: each spelling that is asked for, and its row of numbers.

Three forms are read: spaCy's (keys are hashes of the words, and many words share a row), the text
of word2vec and fastText (`.vec`, compressed or not), and two arrays, the forms and their vectors.
"""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lexicon.murmur import string_hashes
from lexicon.reading import LexiconError

OPENERS = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}


class Vectors(NamedTuple):
    """A matrix of vectors, and the row of each spelling that was asked for and has one."""

    matrix: np.ndarray
    row: Mapping[str, int]


def of_spacy(matrix: np.ndarray, keys: Path, wanted: Sequence[str]) -> Vectors:
    """Of the vocabulary of a spaCy model: its `vectors`, and its file `key2row`."""
    from srsly import msgpack_loads  # which takes a while, and no other source needs it

    try:
        row_of = msgpack_loads(keys.read_bytes())
        sound = all(type(key) is int and type(row) is int for key, row in row_of.items())
    except Exception as error:  # msgpack raises what it likes at a damaged file
        raise LexiconError(f"{keys} cannot be read: {error}") from None
    rows = matrix.shape[0] if matrix.ndim else 0
    if not sound or not all(0 <= row < rows for row in row_of.values()):
        raise LexiconError(f"{keys}: expected hashes and their rows, of which there are {rows:,}")
    hashed = zip(wanted, string_hashes(wanted).tolist(), strict=True)
    return _checked(matrix, {form: row_of[key] for form, key in hashed if key in row_of}, keys)


def of_arrays(forms: np.ndarray, matrix: np.ndarray, wanted: Sequence[str], path: Path) -> Vectors:
    """Of two arrays, N texts and N × D numbers; of equal forms the first is taken."""
    if forms.ndim != 1 or forms.dtype.kind != "U" or forms.shape != matrix.shape[:1]:
        raise LexiconError(
            f"{path}: expected an array of N texts `forms` and one of N × D numbers `vectors`, "
            f"found {_described(forms)} and {_described(matrix)}"
        )
    row_of = {form: row for row, form in reversed([*enumerate(forms.tolist())])}
    return _checked(matrix, {form: row_of[form] for form in wanted if form in row_of}, path)


def _checked(matrix: np.ndarray, row: dict[str, int], path: Path) -> Vectors:
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu" or not matrix.shape[1]:
        raise LexiconError(f"{path}: expected vectors, found {_described(matrix)}")
    with np.errstate(over="ignore"):
        matrix = matrix.astype(np.float32)
    if not np.isfinite(matrix[sorted({*row.values()})]).all():
        raise LexiconError(f"{path}: expected finite numbers, found others")
    return Vectors(matrix, row)


def _described(array: np.ndarray) -> str:
    return f"an array {' × '.join(map(str, array.shape)) or 'of no dimension'} of {array.dtype}"


def of_text(path: Path, wanted: Sequence[str]) -> Vectors:
    """Of a text: a line with the number of words and of dimensions, then a word and its numbers.

    Only the lines of wanted words are kept, so that a file of millions takes no more memory.
    """
    numbered = _lines(path)
    count, dimensions = _header(path, next(numbered, (1, "")))
    lacking, found, row, number = {*wanted}, [], {}, 1
    for number, line in numbered:
        form, *numbers = line.rstrip(" ").rsplit(" ", dimensions)
        if len(numbers) != dimensions:
            raise LexiconError(f"{path}:{number}: expected a word and {dimensions} numbers")
        if form in lacking:  # of two lines of one word the first is taken
            lacking.remove(form)
            row[form] = len(found)
            found.append(_numbers(path, number, numbers))
    if number - 1 != count:
        raise LexiconError(f"{path}: expected {count:,} words, found {number - 1:,}")
    matrix = np.array(found, np.float32).reshape(len(found), dimensions)
    return _checked(matrix, row, path)


def _header(path: Path, first: tuple[int, str]) -> tuple[int, int]:
    sizes = first[1].split()
    if len(sizes) != 2 or not all(size.isdecimal() and len(size) < 10 for size in sizes):
        raise LexiconError(
            f"{path}:1: expected the number of words and of dimensions, found {first[1][:80]!r}"
        )
    count, dimensions = map(int, sizes)
    if not dimensions:
        raise LexiconError(f"{path}:1: expected vectors of at least one dimension")
    return count, dimensions


def _numbers(path: Path, number: int, numbers: Sequence[str]) -> np.ndarray:
    try:
        with np.errstate(over="ignore"):  # what is too large is found to be infinite
            return np.array(numbers, np.float32)
    except ValueError as error:
        raise LexiconError(f"{path}:{number}: expected numbers: {error}") from None


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines of a UTF-8 file; only a line feed ends one."""
    number = 0
    try:
        with OPENERS.get(path.suffix, open)(path, "rb") as file:
            for number, line in enumerate(file, start=1):
                yield number, line.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise LexiconError(f"{path}:{number}: expected UTF-8: {error}") from None
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk, not the content
            raise
        raise LexiconError(f"{path}: the compressed file is damaged: {error}") from None
