"""Where a model computes, and whether it does the same each time."""

import os

import torch


def choose_device(name: str) -> torch.device:
    """The named device, or for `auto` the GPU if there is one.

    Products on a GPU are then in TF32, much faster and no worse to train: whoever scores a model
    has to ask here too, so that it scores as in the process that trained it.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        why = str(error).splitlines()[0]
        raise ValueError(f"device: expected auto, or one that is here; got {name}: {why}") from None
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    return device


def be_deterministic(wanted: bool) -> None:
    """Whether all that is computed from here on has to be the same each time, on a GPU too."""
    if wanted:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what cuBLAS needs for it
    torch.use_deterministic_algorithms(wanted)
