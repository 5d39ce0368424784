"""Weights of a torch module, on disk and in its parameters."""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file, save
from torch import Tensor, nn

from accord.errors import AccordError
from accord.models.common.arrays import check_shapes, refused_by_name, shapes_of
from accord.models.common.files import write_whole


def save_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    write_whole(path, save({name: value.contiguous() for name, value in tensors.items()}))


def load_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a file, whose own library checks what the file claims before it is read."""
    with refused_by_name(path):
        return load_file(path)


def parameters_of(model: nn.Module) -> dict[str, Tensor]:
    """The parameters by name, a shared one under its first name only."""
    return {name: value.detach().clone() for name, value in model.named_parameters()}


@torch.no_grad()
def load_weights(model: nn.Module, tensors: dict[str, Tensor] | Path, where: str = "") -> None:
    """Put the tensors, or those of a file, in the place of the model's parameters.

    `where` begins the error message; by default it is the name of the file.
    """
    if isinstance(tensors, Path):
        where, tensors = f"{tensors}: ", load_tensors(tensors)
    own = dict(model.named_parameters())
    check_shapes(where, shapes_of(own), shapes_of(tensors))
    for name, value in own.items():
        value.copy_(tensors[name])
        if not value.isfinite().all():
            raise AccordError(f"{where}{name}: expected finite numbers, got NaN or infinity")


def take_weights(model: nn.Module, weights: Mapping[str, Tensor], where: str = "") -> None:
    """Set parameters without storage to these tensors; a shared one is set once.

    So no initial weights are drawn in vain.
    """
    for name, parameter in model.named_parameters():
        value = weights[name]
        # NaN and infinity survive a sum, which is quick; large numbers may add up to infinity too.
        if not (value.sum().isfinite() or value.isfinite().all()):
            raise AccordError(f"{where}{name}: expected finite numbers, got NaN or infinity")
        torch.utils.swap_tensors(parameter, nn.Parameter(value, parameter.requires_grad))
