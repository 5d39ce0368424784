"""Arrays on disk; the header of a file is checked before the file is read."""

import errno
import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

MOST_PACKED = 1100  # bytes that one byte of a compressed file may stand for; deflate reaches 1032
NUMBERS = "biuf"  # kinds of numbers in numpy
# Errors that numpy and zipfile raise for a bad file.
DAMAGE = (
    *(ValueError, EOFError, KeyError, OverflowError, NotImplementedError, RuntimeError),
    *(SyntaxError, tokenize.TokenError, struct.error, zipfile.BadZipFile, zlib.error),
)


def load_array(path: Path, mapped: bool = False) -> np.ndarray:
    """The numbers of a `.npy` file; mapped, it stays on disk until it is read."""
    with _named(path), path.open("rb") as file:
        _check(file, path.stat().st_size)
        array = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
        if array.dtype.kind not in NUMBERS:
            raise ValueError(f"expected numbers, got {array.dtype}")
        return array


def load_arrays(path: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """The arrays of a `.npz` file that has these and no others."""
    with _named(path), zipfile.ZipFile(path) as archive:
        found = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
        if found.keys() != {*names} or len(archive.infolist()) != len(names):
            raise ValueError(f"expected the arrays {', '.join(names)}, found {', '.join(found)}")
        for member in found.values():
            if member.file_size > MOST_PACKED * path.stat().st_size:
                raise ValueError(f"{member.filename} claims {member.file_size:,} bytes")
            with archive.open(member) as file:
                _check(file, member.file_size)
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in names}


def save_arrays(path: Path, arrays: Mapping[str, np.ndarray], packed: bool = False) -> None:
    """Write a `.npz` file; packed, it takes less room and more time."""
    named: dict[str, Any] = dict(arrays)  # numpy's types take any name for that of an option
    (np.savez_compressed if packed else np.savez)(path, **named)


def check_stored(path: Path) -> None:
    """Reject a `.npz` file whose arrays are compressed: they could be far larger than the file."""
    with _named(path), zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if member.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"{member.filename} is packed: expected arrays as they are")


def _check(file: IO[bytes], size: int) -> None:
    """Check that the array that begins here is as large as its header says."""
    version = npy.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"expected an array of format 1 or 2, got {version}")
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject:
        raise ValueError("expected numbers or text, got objects, which could be code")
    claimed, there = dtype.itemsize * math.prod(shape), size - file.tell()
    if claimed != there:
        raise ValueError(f"an array of {claimed:,} bytes is claimed, {there:,} are there")


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Turn errors of the block into one that names the file."""
    try:
        yield
    except (*DAMAGE, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # a place that no file has
            raise
        raise ValueError(f"{path} cannot be loaded: {error}") from None
