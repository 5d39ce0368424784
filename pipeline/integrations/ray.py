"""Tasks on the nodes of a Ray cluster, which need not share a disk.

Ray brings each file to a node once, however many tasks of the node read it. A task sends every
checkpoint back as soon as it is written, and the results at its end. If its node is lost, it runs
again elsewhere, and resumes from the last checkpoint.
"""

import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Lock
from typing import Any

import numpy as np

from accord.errors import AccordError
from accord.models.common.files import remove, write_whole
from accord.pipeline.base.artefact import cached_hash, hashes_of
from accord.pipeline.base.messages import say
from accord.pipeline.run.pool import Pool, Task

RETRIES = 4  # of a task whose node is lost
INTERVAL = 0.5  # seconds between two looks at the files of a task
MANY = 256  # tasks that wait for Ray at a time

Change = tuple[str, bytes | None]  # the name of a file and its content, None if it was removed


class Ray(Pool):
    """The cluster of RAY_ADDRESS, or the one that runs on this machine, or a new local one.

    A task takes this number of CPUs and of GPUs: by default one GPU, where the cluster has any.
    """

    def __init__(self, cpus: float = 1, gpus: float | None = None, at_once: int | None = None):
        if find_spec("ray") is None:
            raise AccordError(
                "on ray: ray is not installed; `pip install 'accord-lm[ray]'` brings it"
            )
        import ray  # here, as nothing else needs it

        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if not ray.is_initialized():
            ray.init(logging_level="ERROR")
        if gpus is None:
            gpus = min(1, ray.cluster_resources().get("GPU", 0))
        super().__init__(at_once or MANY)
        self.ray = ray
        self._sent: dict[str, Any] = {}  # files in Ray's store, by hash
        self._sending, self._stopped = Lock(), Event()
        # A new process for each task, as in a pool. Ray itself would try again with the same files.
        limits = {"max_calls": 1, "max_retries": 0, "num_cpus": cpus, "num_gpus": gpus}
        self._remote = ray.remote(**limits, num_returns="streaming")(_run_on_node)

    def call(self, task: Task) -> None:
        """Run a task to its end on some node; the files that it wrote are then here."""
        for left in reversed(range(RETRIES + 1)):
            files = _files(task.folder, [*task.reads, task.writes])
            contents = [self._send(task.folder / name) for name in files]
            try:
                return self._receive(task, self._remote.remote(task, files, *contents))
            except self.ray.exceptions.RayTaskError as error:
                raise error.cause from None
            except self.ray.exceptions.RayError as error:
                if not left or isinstance(error, self.ray.exceptions.TaskCancelledError):
                    raise AccordError(f"{task.writes}: its node was lost: {error}") from None
                say(f"{task.writes}: its node was lost; it runs again")

    def _receive(self, task: Task, running: Any) -> None:
        """Write the files that a task sends; the last message is their hashes."""
        out, message = task.folder / task.writes, None
        while True:
            while not self.ray.wait([running], timeout=1)[0]:
                if self._stopped.is_set():
                    self.ray.cancel(running, force=True)
                    raise KeyboardInterrupt
            try:
                message = self.ray.get(next(running))
            except StopIteration:
                break
            if isinstance(message, tuple):
                _keep(out, *message)
        received = hashes_of(out)
        if wrong := [name for name, digest in message.items() if received.get(name) != digest]:
            raise AccordError(f"{task.writes}/{wrong[0]} is not the file that the node wrote")

    def stop(self) -> None:
        """End the running tasks."""
        self._stopped.set()

    def _send(self, path: Path) -> Any:
        """Return the reference to a file in Ray's store, which holds equal files once."""
        digest = cached_hash(path)
        with self._sending:
            if digest not in self._sent:
                self._sent[digest] = self.ray.put(np.fromfile(path, np.uint8))
            return self._sent[digest]


def _keep(folder: Path, name: str, content: bytes | None) -> None:
    """Write a file, or remove one that the task has removed."""
    path = folder / name
    if content is None:
        remove(path)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)


def _run_on_node(
    task: Task, files: Sequence[str], *contents: np.ndarray
) -> Iterator[Change | dict[str, str]]:
    """Run a task in a folder of this node; yield the files that it writes, then their hashes."""
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(1) as thread:
        out = Path(scratch) / task.writes
        out.mkdir(parents=True)
        for name, content in zip(files, contents, strict=True):
            (Path(scratch) / name).parent.mkdir(parents=True, exist_ok=True)
            content.tofile(Path(scratch) / name)
        known = _files(out, ("",))
        running = thread.submit(replace(task, folder=Path(scratch)))
        yield from changes(out, known, running)
        running.result()
        yield hashes_of(out)


def changes(out: Path, known: Iterable[str], running: Future) -> Iterator[Change]:
    """Yield new files of a folder while a task writes them, and at its end all that changed."""
    sent: dict[str, str | None] = dict.fromkeys(known)
    is_done = False
    while not is_done:
        is_done = bool(wait([running], INTERVAL).done)
        # The names are listed first, and known files come before new ones: a checkpoint must not
        # arrive before the rows of the logs that were written before it.
        names = _files(out, ("",))
        if not is_done and {*names} == sent.keys():
            continue
        for name in sorted(names, key=lambda name: name not in sent):
            try:
                content = (out / name).read_bytes()
            except FileNotFoundError:  # removed since
                continue
            digest = hashlib.sha256(content).hexdigest()
            if sent.get(name) != digest:
                sent[name] = digest
                yield name, content
        for name in sent.keys() - {*names}:
            del sent[name]
            yield name, None


def _files(folder: Path, names: Iterable[str]) -> list[str]:
    """List the files below these files and folders of a folder, without unfinished ones."""
    files = []
    for name in names:
        if (folder / name).is_file():
            files.append(name)
        for place, subfolders, inside in os.walk(folder / name):
            subfolders[:] = [name for name in subfolders if not name.endswith(".partial")]
            files += [(Path(place) / file).relative_to(folder).as_posix() for file in inside]
    return sorted(files)
