"""Trainings and shards side by side: each is a task that a process of its own computes.

A task is a function of a folder: it reads some files of the folder and writes into one folder
inside it. A task that runs again finds the files that it wrote before, so that a training resumes.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context, parent_process
from pathlib import Path
from pkgutil import resolve_name
from threading import Thread
from typing import Any

from accord.models.common.files import remove
from accord.pipeline.base.artefact import (
    FORMAT,
    META,
    Artefact,
    Inputs,
    hash_of_value,
    hashes_of,
    write_json,
)
from accord.pipeline.base.messages import meter, say
from accord.pipeline.stages.stage import Stage


@dataclass(frozen=True)
class Task:
    """A call of `function(folder, *arguments)`, with the files of the folder that it needs."""

    function: str  # module:function, which every process can import
    folder: Path
    arguments: tuple[Any, ...]
    reads: tuple[str, ...]  # files and folders in the folder
    writes: str  # a folder in the folder

    def __call__(self) -> None:
        resolve_name(self.function)(self.folder, *self.arguments)


class Pool:
    """Processes of this machine: a new one for each task, as a failure may make it unusable."""

    def __init__(self, at_once: int | None = None):
        self.at_once = at_once or 4

    def call(self, task: Task) -> None:
        """Run a task to its end."""
        with ProcessPoolExecutor(1, get_context("spawn"), _end_with_the_parent) as process:
            process.submit(task).result()

    def stop(self) -> None:
        """Do nothing: an interrupt reaches the processes too."""


def _end_with_the_parent() -> None:
    """End a task when its parent is killed; otherwise the next run would compute it twice."""

    def end() -> None:
        parent_process().join()
        os._exit(1)

    Thread(target=end, daemon=True).start()


def side_by_side(
    workers: Pool, calls: Mapping[str, Callable[[], Any]]
) -> Iterator[tuple[str, Future]]:
    """Run calls, each of which waits for a task, several at a time; yield each that has ended."""
    with ThreadPoolExecutor(workers.at_once) as threads:
        names = {threads.submit(call): name for name, call in calls.items()}
        try:
            for ended in as_completed(names):
                yield names[ended], ended
        except BaseException:
            workers.stop()
            threads.shutdown(cancel_futures=True)
            raise


SHARDS = "shards"  # folder of them in an unfinished artefact


@dataclass(frozen=True)
class Shards:
    """A stage computed in shards, each of them an artefact.

    The result is the same, byte by byte, for any number of shards, so the key of an artefact does
    not depend on it. The shards lie in the unfinished artefact until it is whole: a run that was
    killed resumes with the finished ones.
    """

    count: int
    workers: Pool

    def compute(self, stage: Stage, params: Any, inputs: Inputs, out: Path) -> None:
        """Compute the shards that are missing, and the artefact from all of them."""
        names = {label: inputs[label].name for label in stage.inputs}
        pieces = stage.module.pieces(params, inputs, self.count)
        folders = [f"{out.name}/{SHARDS}/{hash_of_value(piece)[:16]}" for piece in pieces]
        function, reads = "accord.pipeline.run.pool:make_shard", tuple(names.values())
        calls = {}
        for piece, folder in zip(pieces, folders, strict=True):
            if not _is_whole(out.parent / folder):
                arguments = stage, params, names, piece, folder
                task = Task(function, out.parent, arguments, reads, folder)
                calls[folder] = partial(self.workers.call, task)
        if done := len(pieces) - len(calls):
            say(f"{stage.name}: {done} of {len(pieces)} shards are there")
        advance = meter(f"shards of {stage.name}", len(calls))
        for _, ended in side_by_side(self.workers, calls):
            ended.result()
            advance(1)
        advance(0)
        for path in out.iterdir():  # of an interrupted run
            if path.name != SHARDS:
                remove(path)
        shards = [out.parent / folder for folder in folders]
        stage.module.compute(params, inputs, out, shards=shards)
        shutil.rmtree(out / SHARDS)


def make_shard(
    folder: Path, stage: Stage, params: Any, inputs: Mapping[str, str], piece: Any, name: str
) -> None:
    """Compute a shard of a stage among the artefacts of a folder."""
    out = folder / name
    if _is_whole(out):
        return
    unfinished = out / "new.partial"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    folders = {label: folder / artefact for label, artefact in inputs.items()}
    stage.module.shard(params, folders, piece, unfinished)
    for path in unfinished.iterdir():
        path.replace(out / path.name)
    unfinished.rmdir()
    write_json(out / META, {"format": FORMAT, "files": hashes_of(out)})


def _is_whole(folder: Path) -> bool:
    try:
        Artefact.read(folder).check()
    except (OSError, ValueError):
        return False
    return True
