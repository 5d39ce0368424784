"""Read the vectors of some words from a published file.

Three formats are read: spaCy's (keys are hashes of the words, and many words share a row), the text
of word2vec and fastText (`.vec`, compressed or not), and two arrays, the forms and their vectors.
K-means clusters the vectors.
"""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from accord.lexicon.analysis import LexiconError

OPENERS = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}


class VectorFile(NamedTuple):
    """A matrix of vectors, and the row of each needed spelling that has one."""

    matrix: np.ndarray
    row: Mapping[str, int]


def read_spacy(matrix: np.ndarray, keys: Path, wanted: Sequence[str]) -> VectorFile:
    """Read the vectors of a spaCy model: the files `vectors` and `key2row`."""
    from srsly import msgpack_loads  # which takes a while, and no other source needs it

    try:
        row_of = msgpack_loads(keys.read_bytes())
        sound = all(type(key) is int and type(row) is int for key, row in row_of.items())
    except Exception as error:  # msgpack may raise anything at a damaged file
        raise LexiconError(f"{keys} cannot be read: {error}") from None
    rows = matrix.shape[0] if matrix.ndim else 0
    if not sound or not all(0 <= row < rows for row in row_of.values()):
        raise LexiconError(f"{keys}: expected hashes and their rows, of which there are {rows:,}")
    hashed = zip(wanted, string_hashes(wanted).tolist(), strict=True)
    return _checked(matrix, {form: row_of[key] for form, key in hashed if key in row_of}, keys)


def read_arrays(
    forms: np.ndarray, matrix: np.ndarray, wanted: Sequence[str], path: Path
) -> VectorFile:
    """Read two arrays: N texts and N × D numbers. Of equal forms the first counts."""
    if forms.ndim != 1 or forms.dtype.kind != "U" or forms.shape != matrix.shape[:1]:
        raise LexiconError(
            f"{path}: expected an array of N texts `forms` and one of N × D numbers `vectors`, "
            f"found {_described(forms)} and {_described(matrix)}"
        )
    row_of = {form: row for row, form in reversed([*enumerate(forms.tolist())])}
    return _checked(matrix, {form: row_of[form] for form in wanted if form in row_of}, path)


def _checked(matrix: np.ndarray, row: dict[str, int], path: Path) -> VectorFile:
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu" or not matrix.shape[1]:
        raise LexiconError(f"{path}: expected vectors, found {_described(matrix)}")
    with np.errstate(over="ignore"):
        matrix = matrix.astype(np.float32)
    if not np.isfinite(matrix[sorted({*row.values()})]).all():
        raise LexiconError(f"{path}: expected finite numbers, found others")
    return VectorFile(matrix, row)


def _described(array: np.ndarray) -> str:
    return f"an array {' × '.join(map(str, array.shape)) or 'of no dimension'} of {array.dtype}"


def read_text(path: Path, wanted: Sequence[str]) -> VectorFile:
    """Read a text: a line with the numbers of words and dimensions, then one line per word.

    Only the lines of wanted words are kept, so that a file of millions takes no more memory.
    """
    numbered = _lines(path)
    _, first = next(numbered, (1, ""))
    sizes = first.split()
    if len(sizes) != 2 or not all(size.isdecimal() and len(size) < 10 for size in sizes):
        raise LexiconError(
            f"{path}:1: expected the number of words and of dimensions, found {first[:80]!r}"
        )
    count, dimensions = map(int, sizes)
    if not dimensions:
        raise LexiconError(f"{path}:1: expected vectors of at least one dimension")
    lacking, rows, row_of, number = {*wanted}, [], {}, 1
    for number, line in numbered:
        form, *numbers = line.rstrip(" ").rsplit(" ", dimensions)
        if len(numbers) != dimensions:
            raise LexiconError(f"{path}:{number}: expected a word and {dimensions} numbers")
        if form in lacking:  # of two lines of one word the first is taken
            lacking.remove(form)
            row_of[form] = len(rows)
            try:
                with np.errstate(over="ignore"):  # a number that is too large becomes infinite
                    rows.append(np.array(numbers, np.float32))
            except ValueError as error:
                raise LexiconError(f"{path}:{number}: expected numbers: {error}") from None
    if number - 1 != count:
        raise LexiconError(f"{path}: expected {count:,} words, found {number - 1:,}")
    matrix = np.array(rows, np.float32).reshape(len(rows), dimensions)
    return _checked(matrix, row_of, path)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a UTF-8 file; only a line feed ends one."""
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


MURMUR_FACTOR = np.uint64(0xC6A4A7935BD1E995)
MURMUR_SHIFT = np.uint64(47)
MURMUR_SEED = np.uint64(1)  # spaCy's


def string_hashes(words: Sequence[str]) -> np.ndarray:
    """Return MurmurHash64A (Appleby 2008) of each word's UTF-8 bytes: its key in spaCy's files.

    Words of one length are hashed side by side.
    """
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    hashes = np.zeros(len(encoded), np.uint64)
    for length in np.unique(lengths).tolist():
        chosen = np.flatnonzero(lengths == length)
        padded = b"".join(encoded[word].ljust(-(-length // 8) * 8, b"\0") for word in chosen)
        blocks = np.frombuffer(padded, "<u8").reshape(len(chosen), -1)
        # Products and sums are modulo 2⁶⁴.
        hashed = np.full(len(blocks), MURMUR_SEED ^ _times(np.uint64(length)))
        for place, block in enumerate(blocks.T, start=1):
            is_whole = place * 8 <= length  # the last bytes are taken as they are
            hashed = _times(hashed ^ (_times(_folded(_times(block))) if is_whole else block))
        hashes[chosen] = _folded(_times(_folded(hashed)))
    return hashes


def _times(numbers: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return numbers * MURMUR_FACTOR


def _folded(numbers: np.ndarray) -> np.ndarray:
    return numbers ^ (numbers >> MURMUR_SHIFT)


PASSES = 25  # of k-means


def kmeans(vectors: np.ndarray, classes: int) -> np.ndarray:
    """Return the class of each row, from 0: that of the nearest centre, its members' mean (Lloyd).

    Rows are scaled to length 1, as the length of a word's vector shows little but its frequency.
    Centres begin at rows drawn at random, the same for the same vectors.
    """
    if len(vectors) <= classes:
        return np.arange(len(vectors))
    rows = vectors.astype(np.float32)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    centres = rows[np.sort(np.random.default_rng(0).permutation(len(rows))[:classes])]
    nearest = np.full(len(rows), -1)
    for _ in range(PASSES):
        former, nearest = nearest, _nearest(rows, centres)
        if np.array_equal(former, nearest):
            break
        sizes = np.bincount(nearest, minlength=classes)
        order = np.argsort(nearest, kind="stable")
        filled = np.flatnonzero(sizes)  # an empty class keeps its centre
        starts = np.cumsum(sizes) - sizes
        sums = np.add.reduceat(rows[order], starts[filled], axis=0)
        centres[filled] = sums / sizes[filled, None]
    return nearest


def _nearest(rows: np.ndarray, centres: np.ndarray, at_once: int = 4096) -> np.ndarray:
    """Return the centre at the smallest distance |c|² − 2·r·c + |r|², of equal ones the first."""
    lengths = (centres**2).sum(axis=1)
    parts = [
        (lengths - 2 * rows[start : start + at_once] @ centres.T).argmin(axis=1)
        for start in range(0, len(rows), at_once)
    ]
    return np.concatenate(parts)
