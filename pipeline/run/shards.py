"""A stage computed in shards, each of them an artefact, by processes or by a cluster.

The result is the same, byte by byte, for any number of shards, so the key of an artefact does not
depend on it. The shards lie in the unfinished artefact until it is whole: a run that was killed
resumes with those that are done.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
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
from accord.pipeline.run.workers import Task, Workers, side_by_side
from accord.pipeline.stages.table import STAGES, Stage

SHARDS = "shards"  # folder of them in an unfinished artefact


@dataclass(frozen=True)
class Shards:
    """How the preparation is shared out."""

    count: int
    workers: Workers

    def compute(self, stage: Stage, params: Any, inputs: Inputs, out: Path) -> None:
        """Compute the shards that are not there yet, and the artefact from all of them."""
        names = {label: inputs[label].name for label in stage.inputs}
        pieces = stage.pieces(params, inputs, self.count)
        folders = [f"{out.name}/{SHARDS}/{hash_of_value(piece)[:16]}" for piece in pieces]
        tasks = [
            Task(
                "accord.pipeline.run.shards:make",
                out.parent,
                (stage.name, params, names, piece, folder),
                tuple(names.values()),
                folder,
            )
            for piece, folder in zip(pieces, folders, strict=True)
            if not _is_whole(out.parent / folder)
        ]
        if done := len(pieces) - len(tasks):
            say(f"{stage.name}: {done} of {len(pieces)} shards are there")
        advance = meter(f"shards of {stage.name}", len(tasks))
        for _, ended in side_by_side(self.workers, tasks):
            ended.result()
            advance(1)
        advance(0)
        for path in out.iterdir():  # of an interrupted run
            if path.name != SHARDS:
                remove(path)
        stage.compute(params, inputs, out, shards=[out.parent / folder for folder in folders])
        shutil.rmtree(out / SHARDS)


def make(
    folder: Path, stage: str, params: Any, inputs: Mapping[str, str], piece: Any, name: str
) -> None:
    """Compute a shard of a stage among the artefacts of a folder."""
    out = folder / name
    if _is_whole(out):
        return
    partial = out / "new.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    of_stage = {label: folder / artefact for label, artefact in inputs.items()}
    STAGES[stage].shard(params, of_stage, piece, partial)
    for path in partial.iterdir():
        path.replace(out / path.name)
    partial.rmdir()
    write_json(out / META, {"format": FORMAT, "files": hashes_of(out)})


def _is_whole(folder: Path) -> bool:
    try:
        Artefact.read(folder).check()
    except (OSError, ValueError):
        return False
    return True
