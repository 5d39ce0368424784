"""The device that a model computes on, and its memory."""

import ctypes
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from accord.errors import AccordError

TRIM_THRESHOLD, MMAP_THRESHOLD, MMAP_MAX = -1, -3, -4  # parameters of glibc's mallopt
LARGE = 32 << 20  # bytes of the largest block that glibc keeps by itself
MAPPINGS = 65_536  # how many blocks may lie outside the heap, unless told otherwise


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
        raise AccordError(
            f"device: expected auto, or one that is here; got {name}: {why}"
        ) from None
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    return device


def has_bfloat16(device: torch.device) -> bool:
    """Whether products in bfloat16 are fast there; on some CPUs they take 200 times as long."""
    if device.type != "cpu":
        return True
    return torch.backends.mkldnn.is_available() and torch.ops.mkldnn._is_mkldnn_bf16_supported()


def be_deterministic(wanted: bool) -> None:
    """Set whether computations have to be reproducible from here on, on a GPU too."""
    if wanted:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # what cuBLAS needs for it
    # `use_deterministic_algorithms` does the same, and imports torch's compiler: 1.8 s.
    torch.set_deterministic_debug_mode("error" if wanted else "default")


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Keep freed memory in the process: the system would return it page by page and zeroed.

    The scores of 2,000 words over 13,000 signatures have 100 MB, and each step frees several such.
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
