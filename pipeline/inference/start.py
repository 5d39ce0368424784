"""The finished model that a training goes on from: the folder that `train.start` names."""

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.artefacts.artefact import Artefact, read_json
from pipeline.inference.default_model import NAME, default_model, is_default
from pipeline.sharing.file_names import CONFIG, MODEL

if TYPE_CHECKING:
    from torch import Tensor


def start_folder(start: str) -> Path:
    """That of a model that comes with Accord, or the folder itself, if it is an exported model."""
    folder = default_model() if is_default(start) else Path(start)
    if not (folder / CONFIG).is_file():
        raise ValueError(
            f"train.start: expected {NAME} or a folder that `accord export` wrote, found "
            f"{start!r}: there is no {folder / CONFIG}"
        )
    return folder


def start_weights(folder: Path) -> "dict[str, Tensor]":
    from models.common.weights import load_tensors  # here, as it loads torch

    return {name: tensor.float() for name, tensor in load_tensors(folder / MODEL).items()}


def start_artefact(start: str) -> Artefact:
    """Its folder with the hashes of its files, as those that stages made have them."""
    folder = start_folder(start)
    return Artefact(folder, read_json(folder / CONFIG))
