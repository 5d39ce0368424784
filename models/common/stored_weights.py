"""Weights on disk, read by numpy: whole, or in half precision and int8 shards (the compact form).

A row of a matrix in int8 is q·scale; scale is its largest number / 127. A row is what one output
unit reads, or the vector of one word or feature. Older folders have the rows of words in int8 and
all other weights in half precision. Weights are returned in single precision. A matrix larger than
a shard is cut into pieces of rows.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save

from accord.models.common.files import write_whole

MOST_NAMED = 10  # parameters in an error

Shapes = dict[str, tuple[int, ...]]  # of tensors by their names
Weights = dict[str, np.ndarray]  # tensors by their names


def save_weights(weights: Weights, path: Path) -> None:
    write_whole(path, save(weights))


def load_weights(path: Path) -> Weights:
    """The weights of a file; its own library checks what the file claims before it is read."""
    with refused_by_name(path):
        return load_file(path)


@contextmanager
def refused_by_name(path: Path) -> Iterator[None]:
    """Errors of safetensors become one that names the file."""
    try:
        yield
    except SafetensorError as error:
        raise ValueError(f"{path} cannot be loaded: {error}") from None


def shapes_of(tensors: Mapping[str, Any]) -> Shapes:
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def shapes_in(path: Path) -> Shapes:
    """The shapes of a file's tensors; no tensor is read."""
    with refused_by_name(path), safe_open(path, "np") as file:
        return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118


def check_shapes(where: str, expected: Shapes, found: Shapes) -> None:
    """Reject parameters that do not belong to a network."""
    if expected.keys() != found.keys():
        differ = ", ".join(sorted(expected.keys() ^ found.keys())[:MOST_NAMED])
        raise ValueError(f"{where}expected the parameters of this network; these differ: {differ}")
    for name, shape in expected.items():
        if shape != found[name]:
            raise ValueError(f"{where}{name}: expected {shape}, got {found[name]}")


SHARD = 16_000_000  # bytes of a file, at most
HEADER = 100_000  # of these, left for the names
SCALE = ":scale"  # ends the name of the scales of a matrix in int8
PIECE = ":piece "  # ends, with a number, the name of a piece
LARGEST = 127
LARGE = 1000  # numbers of a matrix from which on int8 saves more than its scales take


def shard_name(number: int, count: int) -> str:
    """As the Hugging Face hub calls them."""
    return f"model-{number:05}-of-{count:05}.safetensors"


def packed(weights: Mapping[str, np.ndarray], int8: bool) -> Weights:
    """The weights as they are stored: in half precision if it holds, large matrices in int8."""
    kept: Weights = {}
    for name, array in weights.items():
        array = array.astype(np.float32, copy=False)
        if int8 and array.ndim == 2 and array.size >= LARGE:
            scale = np.abs(array).max(axis=1, keepdims=True) / np.float32(LARGEST)
            rows = array / np.where(scale > 0, scale, np.float32(1))
            kept[name], kept[name + SCALE] = rows.round().astype(np.int8), scale
        else:
            with np.errstate(over="ignore"):  # what is too large is infinite, and stays single
                half = array.astype(np.float16)
            kept[name] = half if np.isfinite(half).all() else array
    return kept


def unpacked(kept: Mapping[str, np.ndarray]) -> Weights:
    """The weights in single precision."""
    found: Weights = {}
    for name, array in kept.items():
        if name.endswith(SCALE):
            continue
        found[name] = array.astype(np.float32, copy=False)
        if array.dtype == np.int8:
            scale = kept.get(name + SCALE)
            if scale is None or scale.shape != (len(array), 1):
                raise ValueError(f"{name}: expected a scale of each of {len(array):,} rows")
            found[name] *= scale.astype(np.float32, copy=False)
    return found


def save_shards(kept: Mapping[str, np.ndarray], folder: Path) -> list[Path]:
    """Write the result of `packed` to as many files as needed."""
    shards: list[Weights] = [{}]
    room = SHARD - HEADER
    for name, array in _pieces(kept):
        if room < array.nbytes:
            shards.append({})
            room = SHARD - HEADER
        shards[-1][name] = array
        room -= array.nbytes
    paths = [folder / shard_name(number, len(shards)) for number, _ in enumerate(shards, start=1)]
    for path, shard in zip(paths, shards, strict=True):
        save_weights(shard, path)
    return paths


def _pieces(kept: Mapping[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    """Every array, or its rows in pieces that a shard has room for."""
    for name, array in kept.items():
        if array.nbytes <= SHARD - HEADER:
            yield name, array
            continue
        rows = (SHARD - HEADER) // array[0].nbytes
        for number, piece in enumerate(np.split(array, range(rows, len(array), rows))):
            yield f"{name}{PIECE}{number:05}", piece


def shards(folder: Path) -> list[Path]:
    """The shards in a folder; the name of the first one tells how many there are."""
    found = sorted(folder.glob("model-*-of-*.safetensors"))
    expected = [shard_name(number, len(found)) for number in range(1, len(found) + 1)]
    if not found or [path.name for path in found] != expected:
        names = ", ".join(path.name for path in found) or "none"
        raise ValueError(f"{folder}: expected all shards of a model, found {names}")
    return found


def load_compact(folder: Path) -> Weights:
    """The weights of a compact model, by name, in single precision."""
    kept: Weights = {}
    for path in shards(folder):
        kept |= load_weights(path)
    for name in sorted(name for name in kept if PIECE in name):
        whole, piece = name.split(PIECE)[0], kept.pop(name)
        kept[whole] = np.concatenate([kept[whole], piece]) if whole in kept else piece
    try:
        return unpacked(kept)
    except ValueError as error:
        raise ValueError(f"{folder}: {error}") from None
