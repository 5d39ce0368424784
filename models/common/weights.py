"""The device that a torch module computes on, its memory, and its weights on disk."""

import ctypes
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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


# Parameters of glibc's mallopt, and their defaults.
TRIM_THRESHOLD, MMAP_THRESHOLD, MMAP_MAX = -1, -3, -4
LARGE = 32 << 20  # bytes of the largest block in the heap
MAPPINGS = 65_536  # blocks outside the heap, at most


def choose_device(name: str) -> torch.device:
    """Return the named device, or for `auto` the GPU if there is one.

    Products on a GPU are in TF32 from then on, which is much faster and trains no worse. Call it
    for scoring too: a model then scores as in the process that trained it.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise AccordError(
            f"device: expected auto, or one that is here; got {name}: {reason}"
        ) from None
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    return device


def has_bfloat16(device: torch.device) -> bool:
    """Return whether products in bfloat16 are fast; on some CPUs they take 200 times as long."""
    if device.type != "cpu":
        return True
    return torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()


def be_deterministic(wanted: bool) -> None:
    """Set whether computations are reproducible from now on, on a GPU too."""
    if wanted:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # needed by cuBLAS
    # `use_deterministic_algorithms` does the same, and imports torch's compiler: 1.8 s.
    torch.set_deterministic_debug_mode("error" if wanted else "default")


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Keep freed memory in the process: glibc gives large blocks back to the system.

    The system returns them page by page and zeroed. The scores of 2,000 words over 13,000
    signatures have 100 MB, and each step frees several such blocks. With ten times as many
    signatures a step takes 1.3 to 1.4 times as long without this.
    """
    if platform.libc_ver()[0] != "glibc":
        yield
        return
    libc = ctypes.CDLL(None)
    libc.mallopt(MMAP_MAX, 0)
    libc.mallopt(TRIM_THRESHOLD, -1)
    try:
        yield
    finally:
        libc.mallopt(MMAP_MAX, MAPPINGS)
        libc.mallopt(MMAP_THRESHOLD, LARGE)
        libc.mallopt(TRIM_THRESHOLD, 2 * LARGE)
        libc.malloc_trim(0)
