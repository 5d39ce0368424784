"""Weights on disk: each parameter once, also where two layers share it; written whole or not."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import Tensor, nn

from accord.models.common.files.whole_file import write_whole

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
