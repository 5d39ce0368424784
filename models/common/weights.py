"""Weights on disk: whole, and in half precision or int8 shards.

A row in int8 is q·scale, scale being its largest number / 127. What is read back is in single
precision. A matrix larger than a shard is cut into pieces of rows.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor, nn

from accord.models.common.files import write_whole

MOST_NAMED = 10  # parameters in an error

Shapes = dict[str, tuple[int, ...]]  # of tensors by their names


def save_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    write_whole(path, save({name: value.contiguous() for name, value in tensors.items()}))


def load_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a file, whose own library checks what the file claims before it is read."""
    with _refused_by_name(path):
        return load_file(path)


@contextmanager
def _refused_by_name(path: Path) -> Iterator[None]:
    try:
        yield
    except SafetensorError as error:
        raise ValueError(f"{path} cannot be loaded: {error}") from None


def parameters_of(model: nn.Module) -> dict[str, Tensor]:
    """The parameters by name, a shared one under its first name only."""
    return {name: value.detach().clone() for name, value in model.named_parameters()}


@torch.no_grad()
def load_weights(model: nn.Module, tensors: dict[str, Tensor] | Path, where: str = "") -> None:
    """Put the tensors, or those of a file, in the place of the model's parameters.

    `where` begins what is said of wrong ones: here the file's name.
    """
    if isinstance(tensors, Path):
        where, tensors = f"{tensors}: ", load_tensors(tensors)
    own = dict(model.named_parameters())
    check_shapes(where, shapes_of(own), shapes_of(tensors))
    for name, value in own.items():
        value.copy_(tensors[name])
        if not value.isfinite().all():
            raise ValueError(f"{where}{name}: expected finite numbers, got NaN or infinity")


def shapes_of(tensors: Mapping[str, Tensor]) -> Shapes:
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def shapes_in(path: Path) -> Shapes:
    """Those of a file's tensors, none of which is read."""
    with _refused_by_name(path), safe_open(path, "pt") as file:
        return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118


def check_shapes(where: str, expected: Shapes, found: Shapes) -> None:
    """Refuse parameters that are not those of a network."""
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


def shard_name(number: int, count: int) -> str:
    """As the Hugging Face hub calls them."""
    return f"model-{number:05}-of-{count:05}.safetensors"


def packed(tensors: Mapping[str, Tensor], in_int8: Collection[str]) -> dict[str, Tensor]:
    """The tensors as they are kept: those named in int8, others in half precision if it holds."""
    kept = {}
    for name, tensor in tensors.items():
        if name in in_int8:
            scale = tensor.float().abs().amax(dim=1, keepdim=True) / LARGEST
            rows = tensor / scale.where(scale > 0, 1)
            kept[name], kept[name + SCALE] = rows.round().to(torch.int8), scale
        else:
            half = tensor.half()
            kept[name] = half if half.isfinite().all() else tensor.float()
    return kept


def unpacked(kept: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors in single precision."""
    found = {}
    for name, tensor in kept.items():
        if name.endswith(SCALE):
            continue
        found[name] = tensor.float()
        if tensor.dtype == torch.int8:
            scale = kept.get(name + SCALE)
            if scale is None or scale.shape != (len(tensor), 1):
                raise ValueError(f"{name}: expected a scale of each of {len(tensor):,} rows")
            found[name] *= scale.float()
    return found


def save_shards(kept: Mapping[str, Tensor], folder: Path) -> list[Path]:
    """Write what `packed` gives into as many files as it takes."""
    shards: list[dict[str, Tensor]] = [{}]
    room = SHARD - HEADER
    for name, tensor in _pieces(kept):
        if room < tensor.nbytes:
            shards.append({})
            room = SHARD - HEADER
        shards[-1][name] = tensor
        room -= tensor.nbytes
    paths = [folder / shard_name(number, len(shards)) for number, _ in enumerate(shards, start=1)]
    for path, shard in zip(paths, shards, strict=True):
        save_tensors(shard, path)
    return paths


def _pieces(kept: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """Every tensor, or its rows in pieces that a shard has room for."""
    for name, tensor in kept.items():
        if tensor.nbytes <= SHARD - HEADER:
            yield name, tensor
            continue
        rows = (SHARD - HEADER) // tensor[0].nbytes
        for number, piece in enumerate(tensor.split(rows)):
            yield f"{name}{PIECE}{number:05}", piece


def shards(folder: Path) -> list[Path]:
    """The files of a folder, all that the first one's name speaks of."""
    found = sorted(folder.glob("model-*-of-*.safetensors"))
    expected = [shard_name(number, len(found)) for number in range(1, len(found) + 1)]
    if not found or [path.name for path in found] != expected:
        names = ", ".join(path.name for path in found) or "none"
        raise ValueError(f"{folder}: expected all shards of a model, found {names}")
    return found


def load_compact(folder: Path) -> dict[str, Tensor]:
    """The weights of a model's small form, by name, in single precision."""
    kept: dict[str, Tensor] = {}
    for path in shards(folder):
        kept |= load_tensors(path)
    for name in sorted(name for name in kept if PIECE in name):
        whole, piece = name.split(PIECE)[0], kept.pop(name)
        kept[whole] = torch.cat([kept[whole], piece]) if whole in kept else piece
    try:
        return unpacked(kept)
    except (ValueError, RuntimeError) as error:  # torch's, of shapes that do not fit
        raise ValueError(f"{folder}: {error}") from None


def take_weights(model: nn.Module, weights: Mapping[str, Tensor], where: str = "") -> None:
    """Put tensors in the place of parameters that have no room yet, each once where it is shared.

    So no first weights are drawn that nobody needs.
    """
    for name, parameter in model.named_parameters():
        value = weights[name]
        # NaN and infinity survive a sum, which is quick; large numbers may add up to infinity too.
        if not (value.sum().isfinite() or value.isfinite().all()):
            raise ValueError(f"{where}{name}: expected finite numbers, got NaN or infinity")
        torch.utils.swap_tensors(parameter, nn.Parameter(value, parameter.requires_grad))
