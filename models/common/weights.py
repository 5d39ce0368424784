"""Weights on disk: each parameter once, also where two layers share it; written whole or not."""

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from models.common.whole_file import write_whole

WEIGHTS = "weights.safetensors"


def save_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    write_whole(path, save({name: value.contiguous() for name, value in tensors.items()}))


def load_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a file, whose own library checks what the file claims before it is read."""
    try:
        return load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path} cannot be loaded: {error}") from None


def parameters_of(model: nn.Module) -> dict[str, Tensor]:
    """The parameters by name, a shared one under its first name only."""
    return {name: value.detach().clone() for name, value in model.named_parameters()}


@torch.no_grad()
def load_weights(model: nn.Module, tensors: dict[str, Tensor] | Path) -> None:
    """Put the tensors, or those of a file, in the place of the model's parameters."""
    if isinstance(tensors, Path):
        where, tensors = f"{tensors}: ", load_tensors(tensors)
    else:
        where = ""
    own = dict(model.named_parameters())
    if own.keys() != tensors.keys():
        differ = ", ".join(sorted(own.keys() ^ tensors.keys()))
        raise ValueError(f"{where}expected the parameters of this network; these differ: {differ}")
    for name, value in own.items():
        if value.shape != tensors[name].shape:
            raise ValueError(
                f"{where}{name}: expected {tuple(value.shape)}, got {tuple(tensors[name].shape)}"
            )
        value.copy_(tensors[name])
