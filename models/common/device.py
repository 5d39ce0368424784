"""The device that a model computes on, and its memory."""

import ctypes
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

import torch

from accord.errors import AccordError

try:
    import resource
except ImportError:  # on Windows, which does not say how often a core was taken away
    resource = None  # type: ignore[assignment]

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


def lost_cores() -> int:
    """How often the system has taken a core from this process for another, since it began."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw if resource else 0


class Threads:
    """All threads for the steps of a training, or one while other programs take the cores.

    The threads of a product wait for the slowest of them. Where another program has a core, that is
    the one which shares it, and threads of OpenBLAS wait by spinning, which takes even more from
    it. Then one thread is faster than two. So while the system takes cores away, some steps are
    measured each way, and the faster way is kept until the next trial. On a quiet machine there is
    no trial: it costs nothing there, and the numbers are those of all threads.

    The number of threads changes how sums are rounded. It stays as it is for a recipe that is
    `deterministic`, and where OMP_NUM_THREADS says it.
    """

    STEPS = 5  # of a trial, each way
    LOST = 30  # cores taken away in a second, from which on the machine is busy
    SECONDS = 1.0  # over which they are counted
    AGAIN = 20.0  # seconds after a trial before the next one

    def __init__(
        self,
        chooses: bool,
        clock: Callable[[], float] = time.monotonic,
        lost: Callable[[], int] = lost_cores,
    ):
        self.clock, self.lost = clock, lost
        self.all = self.used = torch.get_num_threads()
        self.chooses = chooses and self.all > 1 and "OMP_NUM_THREADS" not in os.environ
        self.trial: list[int] = []  # threads of the steps that are left of it
        self.costs: dict[int, list[float]] = {}  # seconds a word by threads
        self.stepped = self.counted = clock()
        self.lost_before, self.next_trial = lost(), self.counted

    def after_step(self, words: int) -> None:
        """Choose the threads of the next step."""
        if not self.chooses:
            return
        now = self.clock()
        if self.trial:
            self.costs[self.trial.pop(0)].append((now - self.stepped) / words)
            if not self.trial:
                self.used = min(self.costs, key=lambda threads: median(self.costs[threads]))
                self.next_trial = now + self.AGAIN
        elif now >= self.next_trial and (self.used < self.all or self._is_busy(now)):
            self.costs = {self.all: [], 1: []}
            self.trial = [threads for threads in self.costs for _ in range(self.STEPS)]
        torch.set_num_threads(self.trial[0] if self.trial else self.used)
        self.stepped = now

    def _is_busy(self, now: float) -> bool:
        """Whether other programs have taken cores since this was last asked."""
        if now - self.counted < self.SECONDS:
            return False
        lost, seconds = self.lost() - self.lost_before, now - self.counted
        self.lost_before, self.counted = self.lost_before + lost, now
        return lost > self.LOST * seconds

    def __enter__(self) -> "Threads":
        return self

    def __exit__(self, *_: object) -> None:
        if self.chooses:  # leaves all threads to what comes after the training
            torch.set_num_threads(self.all)


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
