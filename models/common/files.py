"""Arrays, JSON and whole files on disk, without torch.

numpy is imported where arrays are read, as who only writes and hashes files needs none.
"""

import errno
import json
import math
import os
import platform
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    import numpy as np

MOST_PACKED = 1100  # bytes that one byte of a compressed file may stand for; deflate reaches 1032
# What numpy and zipfile raise when a file is not what it should be.
DAMAGE = (
    *(ValueError, EOFError, KeyError, OverflowError, NotImplementedError, RuntimeError),
    *(SyntaxError, tokenize.TokenError, struct.error, zipfile.BadZipFile, zlib.error),
)


def load_array(path: Path, mapped: bool = False) -> "np.ndarray":
    """The array of a `.npy` file; mapped, it stays on disk until it is read."""
    import numpy as np

    with _named(path), path.open("rb") as file:
        _check(file, path.stat().st_size)
        return np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)


def load_arrays(path: Path, names: Sequence[str]) -> "dict[str, np.ndarray]":
    """The arrays of a `.npz` file that has these and no others."""
    import numpy as np

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


def check_stored(path: Path) -> None:
    """Refuse a `.npz` file whose arrays are packed, and so may be far larger than the file."""
    with _named(path), zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if member.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"{member.filename} is packed: expected arrays as they are")


def _check(file: BinaryIO, size: int) -> None:
    """Whether the array that begins here is as large as it claims to be."""
    from numpy.lib import format as npy

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
    """Errors of what is inside become one that names the file."""
    try:
        yield
    except (*DAMAGE, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # a place that no file has
            raise
        raise ValueError(f"{path} cannot be loaded: {error}") from None


LARGEST = 1 << 28  # bytes; what Accord writes as JSON is far smaller
CALLED = {dict: "an object", list: "a list"}


def load_json(path: Path, kind: type) -> Any:
    """What a file holds, which is to be of that kind: `dict` or `list`."""
    if path.stat().st_size > LARGEST:
        raise ValueError(f"{path}: expected at most {LARGEST:,} bytes, got {path.stat().st_size:,}")
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: expected JSON, but {error}") from None
    if not isinstance(content, kind):
        raise ValueError(f"{path}: expected {CALLED[kind]}, got {type(content).__name__}")
    return content


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


PARTIAL = ".*.partial"  # what a killed writer may leave behind


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the old file, down to the disk, and put the new one in its place."""
    partial = path.with_name(f".{path.name}{_of_process(os.getpid())}")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)  # on a full disk, what there was room for


def clear_partial(folder: Path) -> None:
    """Remove what killed writers of this machine left in a folder."""
    for path in folder.glob(PARTIAL):
        pid = path.name.removesuffix(".partial").rpartition(".")[2]
        if pid.isdecimal() and path.name.endswith(_of_process(int(pid))) and not _lives(int(pid)):
            path.unlink(missing_ok=True)


def _of_process(pid: int) -> str:
    """How the files end that a process is writing; on another machine its number says nothing."""
    return f".{platform.node()}.{pid}.partial"


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)  # no signal: it only tells whether one could be sent
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


WEIGHTS = "weights.safetensors"
