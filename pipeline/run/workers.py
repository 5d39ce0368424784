"""Where tasks run: in processes of this machine, or on the nodes of a Ray cluster.

A task is a function of a folder: it reads some files of the folder and writes into one folder
inside it. A task that runs again finds the files that it wrote before, so that a training resumes.

On Ray the nodes need not share a disk. Ray brings each file to a node once, however many tasks of
the node read it. A task sends every checkpoint back as soon as it is written, and the results at
its end. If its node is lost, it runs again elsewhere, and resumes from the last checkpoint.

A task that waits for Ray lends its cores to others, which then run beside it. So a task finds its
files there when it begins, and sends others without waiting, but for its very end.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing import get_context, parent_process
from pathlib import Path
from pkgutil import resolve_name
from threading import Event, Lock, Thread
from typing import Any

import numpy as np

from accord.errors import AccordError
from accord.models.common.files import remove, write_whole
from accord.pipeline.base.artefact import cached_hash, hashes_of
from accord.pipeline.base.messages import say

PLACES = ("pool", "ray")
AT_ONCE = 4  # tasks of a pool
RETRIES = 4  # of a task whose node is lost
LOOK = 0.5  # seconds between two looks at the files of a task
MANY = 256  # tasks that wait for Ray at a time


@dataclass(frozen=True)
class Task:
    """A call of `function(folder, *arguments)`, with the files of the folder that it needs."""

    function: str  # module:function, which every process can import
    folder: Path
    arguments: tuple[Any, ...]
    reads: tuple[str, ...]  # files and folders in the folder
    writes: str  # a folder in the folder

    def __call__(self) -> Any:
        return resolve_name(self.function)(self.folder, *self.arguments)


class Pool:
    """Processes of this machine: a new one for each task, as a failure may make it unusable."""

    def __init__(self, at_once: int | None = None):
        self.at_once = at_once or AT_ONCE

    def call(self, task: Task) -> Any:
        """Run a task to its end."""
        with ProcessPoolExecutor(1, get_context("spawn"), _end_with_the_parent) as fresh:
            return fresh.submit(task).result()

    def stop(self) -> None:
        """Nothing: an interrupt reaches the processes too."""


def _end_with_the_parent() -> None:
    """End a task when its parent is killed; otherwise the next run would compute beside it."""

    def end() -> None:
        parent_process().join()
        os._exit(1)

    Thread(target=end, daemon=True).start()


class Ray:
    """The cluster of RAY_ADDRESS, or the one that runs on this machine, or a new local one.

    A task takes so many CPUs and so much of a GPU: by default one, where the cluster has GPUs.
    """

    def __init__(self, cpus: float = 1, gpus: float | None = None, at_once: int | None = None):
        if find_spec("ray") is None:
            raise AccordError(
                "on ray: ray is not installed; `pip install 'accord-lm[ray]'` brings it"
            )
        import ray  # here, as nothing else needs it

        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if not ray.is_initialized():
            ray.init(log_to_driver=False, logging_level="ERROR")
        if gpus is None:
            gpus = min(1, ray.cluster_resources().get("GPU", 0))
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        self.ray, self.at_once = ray, at_once or MANY
        self._sent: dict[str, Any] = {}  # files in Ray's store, by hash
        self._sending, self._stopped = Lock(), Event()
        self._keeper = ray.remote(num_cpus=0, scheduling_strategy=here)(Keeper).remote()
        # A new process for each task, as in a pool. Ray itself would try again with the same files.
        limits = {"max_calls": 1, "max_retries": 0, "num_cpus": cpus, "num_gpus": gpus}
        self._remote = ray.remote(**limits)(_on_node)

    def call(self, task: Task) -> Any:
        """Run a task to its end on some node; the files that it wrote are then here."""
        kept = task.folder / task.writes
        errors = self.ray.exceptions
        for left in reversed(range(RETRIES + 1)):
            files = _files(task.folder, [*task.reads, task.writes])
            contents = [self._send(task.folder / name) for name in files]
            running = self._remote.remote(task, files, self._keeper, *contents)
            try:
                result, written = self._wait(running)
                break
            except errors.RayTaskError as error:
                raise error.cause from None
            except errors.RayError as error:
                if not left or isinstance(error, errors.TaskCancelledError):
                    raise OSError(f"{task.writes}: its node was lost: {error}") from None
                say(f"{task.writes}: its node was lost; it runs again")
        received = hashes_of(kept)
        if wrong := [name for name in written if received.get(name) != written[name]]:
            raise OSError(f"{task.writes}/{wrong[0]} is not the file that the node wrote")
        return result

    def _wait(self, running: Any) -> Any:
        while not self.ray.wait([running], timeout=1)[0]:
            if self._stopped.is_set():
                self.ray.cancel(running, force=True)
                raise KeyboardInterrupt
        return self.ray.get(running)

    def stop(self) -> None:
        """End the tasks."""
        self._stopped.set()

    def _send(self, path: Path) -> Any:
        """The place of a file in Ray's store, where equal files lie once."""
        digest = cached_hash(path)
        with self._sending:
            if digest not in self._sent:
                self._sent[digest] = self.ray.put(np.fromfile(path, np.uint8))
            return self._sent[digest]


Workers = Pool | Ray


def workers(on: str, at_once: int | None, cpus: float = 1, gpus: float | None = None) -> Workers:
    """The workers of a place in PLACES."""
    if on not in PLACES:
        raise AccordError(f"on: expected {' or '.join(PLACES)}, got {on}")
    return Ray(cpus, gpus, at_once) if on == "ray" else Pool(at_once)


def side_by_side(
    workers: Workers, tasks: Sequence[Task], meanwhile: Callable[[], None] = lambda: None
) -> Iterator[tuple[Task, Future]]:
    """Run tasks several at a time; yields each that has ended, and calls `meanwhile` often."""
    with ThreadPoolExecutor(workers.at_once) as threads:
        running = {threads.submit(workers.call, task): task for task in tasks}
        waiting = {*running}
        try:
            while waiting:
                ended, waiting = wait(waiting, LOOK, FIRST_COMPLETED)
                meanwhile()
                yield from ((running[each], each) for each in ended)
        except BaseException:
            workers.stop()
            threads.shutdown(cancel_futures=True)
            raise


class Keeper:
    """An actor beside the driver: it keeps the files that tasks write, in the driver's folders."""

    def keep(self, folder: Path, name: str, content: bytes | None) -> None:
        """Write a file, or remove one that the task has removed."""
        path = folder / name
        if content is None:
            remove(path)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content)


def _on_node(
    task: Task, files: Sequence[str], keeper: Any, *contents: np.ndarray
) -> tuple[Any, dict[str, str]]:
    """Run a task in a folder of this node; returns its result and the hashes of its files."""
    import ray

    kept, sending = task.folder / task.writes, []
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / task.writes
        out.mkdir(parents=True)
        for name, content in zip(files, contents, strict=True):
            (Path(scratch) / name).parent.mkdir(parents=True, exist_ok=True)
            content.tofile(Path(scratch) / name)
        try:
            with _sent_back(out, lambda *sent: sending.append(keeper.keep.remote(kept, *sent))):
                result = resolve_name(task.function)(Path(scratch), *task.arguments)
        finally:
            ray.get(sending)
        return result, hashes_of(out)


@contextmanager
def _sent_back(out: Path, send: Callable[[str, bytes | None], None]) -> Iterator[None]:
    """Send new files of a folder while a task writes them, and at its end all that changed."""
    sent: dict[str, str | None] = dict.fromkeys(_files(out, ("",)))
    is_done = Event()

    def update() -> None:
        # The names are listed first, and files that are known come before new ones: a checkpoint
        # must not arrive before the rows of the logs that were written before it.
        names = _files(out, ("",))
        for name in sorted(names, key=lambda name: name not in sent):
            try:
                content = (out / name).read_bytes()
            except FileNotFoundError:  # removed since
                continue
            digest = hashlib.sha256(content).hexdigest()
            if sent.get(name) != digest:
                send(name, content)
                sent[name] = digest
        for name in sent.keys() - {*names}:
            send(name, None)
            del sent[name]

    def watch() -> None:
        while not is_done.wait(LOOK):
            if {*_files(out, ("",))} != sent.keys():
                update()

    watching = Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
    finally:
        is_done.set()
        watching.join()
        update()


def _files(folder: Path, names: Iterable[str]) -> list[str]:
    """The files below these files and folders of a folder, without those being written."""
    found = []
    for name in names:
        if (folder / name).is_file():
            found.append(name)
        for place, inside, files in os.walk(folder / name):
            inside[:] = [each for each in inside if not each.endswith(".partial")]
            found += [(Path(place) / file).relative_to(folder).as_posix() for file in files]
    return sorted(found)
