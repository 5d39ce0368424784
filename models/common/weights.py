"""Weights of a torch module, on disk and in its parameters."""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file, save
from torch import Tensor, nn

from accord.errors import AccordError
from accord.models.common.arrays import check_shapes, naming, shapes_of
from accord.models.common.files import write_whole


def save_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    """Write named tensors to a file."""
    write_whole(path, save({name: value.contiguous() for name, value in tensors.items()}))


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file; safetensors validates its header before it reads them."""
    with naming(path):
        return load_file(path)


def parameters_of(model: nn.Module) -> dict[str, Tensor]:
    """Return copies of the parameters by name; a shared one has its first name only."""
    return {name: value.detach().clone() for name, value in model.named_parameters()}


@torch.no_grad()
def load_weights(model: nn.Module, tensors: dict[str, Tensor] | Path, where: str = "") -> None:
    """Copy tensors, or those of a file, into the model's parameters.

    `where` begins the error message; by default it is the name of the file.
    """
    if isinstance(tensors, Path):
        where, tensors = f"{tensors}: ", load_tensors(tensors)
    parameters = dict(model.named_parameters())
    check_shapes(where, shapes_of(parameters), shapes_of(tensors))
    for name, value in parameters.items():
        value.copy_(tensors[name])
        if not value.isfinite().all():
            raise AccordError(f"{where}{name}: expected finite numbers, got NaN or infinity")


def take_weights(model: nn.Module, weights: Mapping[str, Tensor], where: str = "") -> None:
    """Set parameters without storage to these tensors, so that no initial weights are drawn."""
    for name, parameter in model.named_parameters():
        value = weights[name]
        # A sum is quick and keeps NaN and infinity, but large numbers may have an infinite sum too.
        if not (value.sum().isfinite() or value.isfinite().all()):
            raise AccordError(f"{where}{name}: expected finite numbers, got NaN or infinity")
        torch.utils.swap_tensors(parameter, nn.Parameter(value, parameter.requires_grad))
