"""Arrays and weights on disk; the header of a file is checked before the file is read.

Weights are in single precision in one file, or rounded to half precision and int8 in shards. A row
of a matrix in int8 is q·scale; scale is its largest number / 127. Weights are read by numpy, in
single precision. A matrix larger than a shard is cut into pieces of rows.
"""

import errno
import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from accord.errors import AccordError
from accord.models.common.checks import expect
from accord.models.common.files import WEIGHTS, write_whole

MOST_PACKED = 1100  # bytes that one byte of a compressed file may stand for; deflate reaches 1032
NUMBERS = "biuf"  # kinds of numbers in numpy
# Errors that numpy, zipfile and safetensors raise for a bad file.
DAMAGE = (
    *(ValueError, EOFError, KeyError, OverflowError, NotImplementedError, RuntimeError),
    *(SyntaxError, tokenize.TokenError, struct.error, zipfile.BadZipFile, zlib.error),
    SafetensorError,
)


def load_array(path: Path, mapped: bool = False) -> np.ndarray:
    """Return the numbers of a `.npy` file; mapped, it stays on disk until it is read."""
    with naming(path), path.open("rb") as file:
        _check(file, path.stat().st_size)
        array = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
        if array.dtype.kind not in NUMBERS:
            raise AccordError(f"expected numbers, got {array.dtype}")
        return array


def load_arrays(
    path: Path, names: Sequence[str], chosen: Sequence[str] | None = None
) -> dict[str, np.ndarray]:
    """Read the chosen arrays, by default all, of a `.npz` file that has these and no others."""
    with naming(path), zipfile.ZipFile(path) as archive:
        present = [member.filename.removesuffix(".npy") for member in archive.infolist()]
        if sorted(present) != sorted(names):
            raise AccordError(f"expected the arrays {', '.join(names)}, found {', '.join(present)}")
        for member in archive.infolist():
            if member.file_size > MOST_PACKED * path.stat().st_size:
                raise AccordError(f"{member.filename} claims {member.file_size:,} bytes")
            with archive.open(member) as file:
                _check(file, member.file_size)
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in (names if chosen is None else chosen)}


def save_arrays(path: Path, arrays: Mapping[str, np.ndarray], packed: bool = False) -> None:
    """Write a `.npz` file; packed, it takes less room and more time."""
    named: dict[str, Any] = dict(arrays)  # numpy's types take any name for that of an option
    (np.savez_compressed if packed else np.savez)(path, **named)


def narrow(numbers: np.ndarray) -> np.ndarray:
    """Return whole numbers from 0 on in the fewest bytes that hold them all."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def _check(file: IO[bytes], size: int) -> None:
    """Check that the array that begins here is as large as its header says."""
    version = npy.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise AccordError(f"expected an array of format 1 or 2, got {version}")
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject:
        raise AccordError("expected numbers or text, got objects, which could be code")
    claimed, actual = dtype.itemsize * math.prod(shape), size - file.tell()
    if claimed != actual:
        raise AccordError(f"an array of {claimed:,} bytes is claimed, {actual:,} are there")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn errors of the block into one that names the file."""
    try:
        yield
    except (*DAMAGE, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # a place that no file has
            raise
        raise AccordError(f"{path} cannot be loaded: {error}") from None


MOST_NAMED = 10  # parameters in an error

Shapes = dict[str, tuple[int, ...]]  # of tensors by their names
Weights = dict[str, np.ndarray]  # tensors by their names


def save_weights(weights: Weights, path: Path) -> None:
    write_whole(path, save(weights))


def load_weights(path: Path) -> Weights:
    """Return the weights of a file; safetensors validates its header before it reads them."""
    with naming(path):
        return load_file(path)


def shapes_of(tensors: Mapping[str, Any]) -> Shapes:
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def check_shapes(where: str, expected: Shapes, shapes: Shapes) -> None:
    """Reject parameters that do not belong to a network."""
    if differ := sorted(expected.keys() ^ shapes.keys())[:MOST_NAMED]:
        names = ", ".join(differ)
        raise AccordError(f"{where}expected the parameters of this network; these differ: {names}")
    for name, shape in expected.items():
        expect(f"{where}{name}", shape == shapes[name], f"{shape}", shapes[name])


SHARD = 16_000_000  # bytes of a file, at most
HEADER = 100_000  # of these, left for the names
SCALE = ":scale"  # ends the name of the scales of a matrix in int8
PIECE = ":piece "  # ends, with a number, the name of a piece
LARGEST = 127
LARGE = 1000  # numbers of a matrix from which on int8 saves more than its scales take


def shard_names(count: int) -> list[str]:
    """Return the names of shards, as the Hugging Face hub has them."""
    return [f"model-{number:05}-of-{count:05}.safetensors" for number in range(1, count + 1)]


def packed(weights: Mapping[str, np.ndarray], int8: bool) -> Weights:
    """Round weights for storage: to half precision where it suffices, large matrices to int8."""
    kept: Weights = {}
    for name, array in weights.items():
        array = array.astype(np.float32, copy=False)
        if int8 and array.ndim == 2 and array.size >= LARGE:
            scale = np.abs(array).max(axis=1, keepdims=True) / np.float32(LARGEST)
            rows = array / np.where(scale > 0, scale, np.float32(1))
            kept[name], kept[name + SCALE] = rows.round().astype(np.int8), scale
        else:
            with np.errstate(over="ignore"):  # too large numbers are infinite, and stay single
                half = array.astype(np.float16)
            kept[name] = half if np.isfinite(half).all() else array
    return kept


def unpacked(kept: Mapping[str, np.ndarray]) -> Weights:
    """Return rounded weights in single precision."""
    weights: Weights = {}
    for name, array in kept.items():
        if name.endswith(SCALE):
            continue
        weights[name] = array.astype(np.float32, copy=False)
        if array.dtype == np.int8:
            scale = kept.get(name + SCALE)
            if scale is None or scale.shape != (len(array), 1):
                raise AccordError(f"{name}: expected a scale of each of {len(array):,} rows")
            weights[name] *= scale.astype(np.float32, copy=False)
    return weights


def save_shards(kept: Mapping[str, np.ndarray], folder: Path) -> list[Path]:
    """Write the result of `packed` to as many files as needed."""
    most = SHARD - HEADER
    pieces: Weights = {}
    for name, array in kept.items():
        if array.nbytes <= most:
            pieces[name] = array
        else:
            rows = most // array[0].nbytes
            for number, piece in enumerate(np.split(array, range(rows, len(array), rows))):
                pieces[f"{name}{PIECE}{number:05}"] = piece
    shards: list[Weights] = [{}]
    room = most
    for name, array in pieces.items():
        if room < array.nbytes:
            shards.append({})
            room = most
        shards[-1][name] = array
        room -= array.nbytes
    paths = [folder / name for name in shard_names(len(shards))]
    for path, shard in zip(paths, shards, strict=True):
        save_weights(shard, path)
    return paths


def weight_files(folder: Path) -> list[Path]:
    """Return the file of a model's weights, or all its shards; the first tells their number."""
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    shards = sorted(folder.glob("model-*-of-*.safetensors"))
    names = [path.name for path in shards]
    if not shards or names != shard_names(len(shards)):
        present = ", ".join(names) or "none"
        raise AccordError(f"{folder}: expected {WEIGHTS} or all shards of a model, found {present}")
    return shards


def load_model(folder: Path) -> Weights:
    """Read the weights of a model's folder by name, in single precision."""
    kept: Weights = {}
    for path in weight_files(folder):
        kept |= load_weights(path)
    pieces = sorted(name for name in kept if PIECE in name)
    for whole, names in groupby(pieces, key=lambda name: name.split(PIECE)[0]):
        kept[whole] = np.concatenate([kept.pop(name) for name in names])
    try:
        return unpacked(kept)
    except ValueError as error:
        raise AccordError(f"{folder}: {error}") from None
