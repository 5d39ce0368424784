"""The weights of the model that a training goes on from; by themselves, as stages read them."""

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.artefacts.model_files import MODEL

if TYPE_CHECKING:
    from torch import Tensor


def start_weights(folder: Path) -> "dict[str, Tensor]":
    from models.common.files.weights import load_tensors  # here, as it loads torch

    return {name: tensor.float() for name, tensor in load_tensors(folder / MODEL).items()}
