"""MurmurHash64A (Appleby 2008) of words, by which spaCy's files know them."""

from collections.abc import Sequence

import numpy as np

FACTOR = np.uint64(0xC6A4A7935BD1E995)
SHIFT = np.uint64(47)
SEED = np.uint64(1)  # spaCy's


def string_hashes(words: Sequence[str]) -> np.ndarray:
    """The hash of each word's UTF-8 bytes; those of one length are hashed side by side."""
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    hashes = np.zeros(len(encoded), np.uint64)
    for length in np.unique(lengths).tolist():
        these = np.flatnonzero(lengths == length)
        padded = b"".join(encoded[each].ljust(-(-length // 8) * 8, b"\0") for each in these)
        blocks = np.frombuffer(padded, "<u8").reshape(len(these), -1)
        hashes[these] = _of_blocks(blocks, length)
    return hashes


def _of_blocks(blocks: np.ndarray, length: int) -> np.ndarray:
    """Rows of eight bytes each; products and sums are modulo 2⁶⁴."""
    hashed = np.full(len(blocks), SEED ^ _times(np.uint64(length)))
    for place, block in enumerate(blocks.T, start=1):
        whole = place * 8 <= length  # the last bytes are taken as they are
        hashed = _times(hashed ^ (_times(_folded(_times(block))) if whole else block))
    return _folded(_times(_folded(hashed)))


def _times(numbers: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return numbers * FACTOR


def _folded(numbers: np.ndarray) -> np.ndarray:
    return numbers ^ (numbers >> SHIFT)
