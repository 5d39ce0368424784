"""Train the models of a run, also on another machine: it needs torch, numpy and safetensors only.

A folder of runs can be copied. `accord run CONFIG --until encode` prepares the models, and

    python -m accord.pipeline.run.train runs/NAME --at-once 2

trains them where the copy is. Copied back, the trained models are found by their names.

    torchrun --nproc-per-node 4 -m accord.pipeline.run.train runs/NAME

trains one model after the other on all processes, on one machine or several. The first process
writes. Both ways resume an interrupted training, and a model is trained after its teachers.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr
from dataclasses import replace
from functools import partial
from io import TextIOBase
from pathlib import Path

from accord.errors import AccordError, NotFoundError
from accord.models.common.schema import checked
from accord.models.gpu import processes
from accord.models.recipe import Recipe
from accord.pipeline.base.artefact import (
    ARTEFACTS,
    MANIFEST,
    Artefact,
    FinishedRun,
    Store,
    read_json,
    write_json,
)
from accord.pipeline.base.messages import counted, echo, set_level
from accord.pipeline.run.pool import Pool, Task, side_by_side
from accord.pipeline.stages import train
from accord.pipeline.stages.stage import TRAIN, Job

Finished = Callable[[str, Artefact], None]


class Labelled(TextIOBase):
    """Standard error with a name before each line."""

    def __init__(self, name: str):
        self.name, self.stream = name, sys.stderr
        self.flush = self.stream.flush

    def write(self, text: str) -> int:
        return self.stream.write(f"{self.name}: {text}" if text.strip() else text)


def compute(folder: Path, model: str, recipe: Recipe, inputs: Mapping[str, str], out: str) -> None:
    """Train a model among the artefacts of a folder; its name begins each line that is said."""
    folders = {stage: folder / artefact for stage, artefact in inputs.items()}
    with redirect_stderr(Labelled(model)):
        train.compute(recipe, folders, folder / out)


def train_models(
    store: Store, jobs: Mapping[str, Job], workers: Pool, finished: Finished, anew: bool = False
) -> None:
    """Train models side by side, each after its teachers; a failure does not end the others."""
    left, failed = dict(jobs), 0
    while left:
        calls = {
            model: partial(job.make, store, partial(_train_on, workers, model, job), True, anew)
            for model, job in left.items()
            if lacks_teacher(job) is None
        }
        if not calls:
            model, job = next(iter(left.items()))
            raise AccordError(f"{model} is not trained: {lacks_teacher(job)}")
        for model, ended in side_by_side(workers, calls):
            del left[model]
            if error := ended.exception():
                echo(f"{model}: failed: {error}", error=True)
                failed += 1
            else:
                finished(model, ended.result())
    if failed:
        raise AccordError(f"{failed} of {counted(len(jobs), 'model')} failed: see above")


def lacks_teacher(job: Job) -> NotFoundError | None:
    """Return the error of a teacher that is not trained yet."""
    try:
        job.stage.files(job.params)
    except NotFoundError as error:
        return error
    return None


def _train_on(workers: Pool, model: str, job: Job, out: Path) -> None:
    """Let workers train a model into a folder among the artefacts."""
    teachers = job.params.teachers
    paths = [Path(name) for name in teachers.models]
    # A node of a cluster has another current folder.
    names = tuple(str(path.resolve() if path.exists() else path) for path in paths)
    recipe = replace(job.params, teachers=replace(teachers, models=names))
    inputs = {label: artefact.folder.name for label, artefact in job.inputs.items()}
    call = "accord.pipeline.run.train:compute", out.parent, (model, recipe, inputs, out.name)
    workers.call(Task(*call, reads=tuple(inputs.values()), writes=out.name))


def train_together(store: Store, jobs: Mapping[str, Job], finished: Finished) -> None:
    """Train one model after the other, each on all processes that `torchrun` started."""
    names = json.dumps([*jobs]).encode()  # all processes take the models that the first one lacks
    for model in json.loads(processes.from_first(names)):
        processes.total(0)  # the others wait until the first has written the teachers
        job = jobs[model]
        if processes.is_first():
            finished(model, job.make(store, partial(_compute_together, job), resumes=True))
        else:
            set_level("quiet")
            _compute_together(job, store.partial(job.name))


def _compute_together(job: Job, out: Path) -> None:
    train.compute(job.params, job.folders, out)
    processes.total(0)  # nobody reads the folder any more, which the first process renames now


def untrained(run: Path) -> dict[str, Job]:
    """Return the trainings of a run that are prepared and not done, by model."""
    finished, store = FinishedRun.read(run), Store(run.parent / ARTEFACTS)
    jobs = {}
    for model, made in finished.artefacts.items():
        if "train" in made:
            continue
        if missing := [stage for stage in TRAIN.inputs if stage not in made]:
            raise NotFoundError(
                f"{run} is not prepared: expected {missing[0]} of {model}, found none. "
                f"`accord run CONFIG --until encode` prepares it."
            )
        inputs = {stage: store.read(made[stage].name) for stage in TRAIN.inputs}
        section = finished.params[model]["train"]
        jobs[model] = Job(TRAIN, checked(Recipe, section, f"{run}: {model}.train"), inputs)
    return jobs


def _record(run: Path, model: str, artefact: Artefact) -> None:
    """Write a trained model into the manifest of its run, where its students look for it."""
    manifest = read_json(run / MANIFEST)
    manifest["models"][model]["train"] = artefact.folder.name
    write_json(run / MANIFEST, manifest)
    echo(f"{model}: trained, in {artefact.folder}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, help="folder of a run that is prepared")
    parser.add_argument("--at-once", type=int, default=1, help="models trained side by side")
    arguments = parser.parse_args()
    run, together = arguments.run, processes.join()
    try:
        jobs, store, finished = untrained(run), Store(run.parent / ARTEFACTS), partial(_record, run)
        if not jobs:
            echo(f"{run}: nothing to train")
        if together:
            train_together(store, jobs, finished)
            processes.leave()
        else:
            train_models(store, jobs, Pool(arguments.at_once), finished)
    except AccordError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
