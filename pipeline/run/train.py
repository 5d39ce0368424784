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
from dataclasses import dataclass, replace
from functools import cached_property, partial
from io import TextIOBase
from pathlib import Path
from typing import Any

from accord.errors import AccordError, NotFoundError
from accord.models.gpu import processes
from accord.models.recipe import Recipe
from accord.pipeline.base.artefact import (
    MANIFEST,
    Artefact,
    FinishedRun,
    name_of,
    read_json,
    write_json,
)
from accord.pipeline.base.messages import counted, echo, set_level
from accord.pipeline.base.store import Store
from accord.pipeline.run.pool import Pool, Task, Workers, side_by_side
from accord.pipeline.stages import train
from accord.pipeline.stages.stage import TRAIN

Finished = Callable[[str, Artefact], None]


@dataclass(frozen=True)
class TrainingJob:
    """A model to train, and the artefacts that its training reads, by stage."""

    store: Store
    recipe: Recipe
    inputs: Mapping[str, Artefact]

    @cached_property
    def made_from(self) -> dict[str, Any]:
        return TRAIN.made_from(self.recipe, self.inputs)

    @property
    def name(self) -> str:
        return name_of(self.made_from)

    @property
    def has_teachers(self) -> bool:
        """Whether all its teachers are trained."""
        try:
            return bool(self.made_from)
        except NotFoundError:
            return False

    def make(self, compute: Callable[[Path], None], anew: bool = False) -> Artefact:
        """Compute the trained model, after a check of all files that the training reads."""
        for stage, files in TRAIN.inputs.items():
            self.inputs[stage].check(files)
        return self.store.make(self.name, self.made_from, compute, True, anew)

    def task(self, model: str) -> Task:
        """Return the task that trains it among the artefacts."""
        teachers = self.recipe.teachers
        paths = [str(Path(name).resolve()) if Path(name).exists() else name
                 for name in teachers.models]  # fmt: skip
        recipe = replace(self.recipe, teachers=replace(teachers, models=tuple(paths)))
        inputs = {stage: artefact.folder.name for stage, artefact in self.inputs.items()}
        out = self.store.partial(self.name).name
        arguments = (model, recipe, inputs, out)
        function = "accord.pipeline.run.train:compute"
        return Task(function, self.store.folder, arguments, tuple(inputs.values()), out)


class Labelled(TextIOBase):
    """Standard error with a name before each line."""

    def __init__(self, name: str):
        self.name, self.stream = name, sys.stderr

    def write(self, text: str) -> int:
        return self.stream.write(f"{self.name}: {text}" if text.strip() else text)

    def flush(self) -> None:
        self.stream.flush()


def compute(folder: Path, model: str, recipe: Recipe, inputs: Mapping[str, str], out: str) -> None:
    """Train a model among the artefacts of a folder; its name begins each line that is said."""
    folders = {stage: folder / artefact for stage, artefact in inputs.items()}
    with redirect_stderr(Labelled(model)):
        train.compute(recipe, folders, folder / out)


def train_models(
    trainings: Mapping[str, TrainingJob],
    workers: Workers,
    finished: Finished,
    anew: bool = False,
) -> None:
    """Train models side by side, each after its teachers; a failure does not end the others."""
    left, failed = dict(trainings), 0
    while left:
        ready = {model: training for model, training in left.items() if training.has_teachers}
        if not ready:
            [training, *_] = left.values()
            raise AccordError(f"{next(iter(left))} is not trained: {_missing_teacher(training)}")
        calls = {
            model: partial(training.make, partial(_call, workers, training, model), anew)
            for model, training in ready.items()
        }
        for model, ended in side_by_side(workers, calls):
            del left[model]
            if error := ended.exception():
                echo(f"{model}: failed: {error}", error=True)
                failed += 1
            else:
                finished(model, ended.result())
    if failed:
        raise AccordError(f"{failed} of {counted(len(trainings), 'model')} failed: see above")


def _call(workers: Workers, training: TrainingJob, model: str, out: Path) -> None:
    workers.call(training.task(model))


def _missing_teacher(training: TrainingJob) -> str:
    try:
        return str(training.made_from)
    except NotFoundError as error:
        return str(error)


def train_together(trainings: Mapping[str, TrainingJob], finished: Finished) -> None:
    """Train one model after the other, each on all processes that `torchrun` started."""
    names = json.dumps([*trainings]).encode()  # all processes take those that the first one lacks
    for model in json.loads(processes.from_first(names)):
        processes.total(0)  # the others wait until the first has written what teaches the next
        training = trainings[model]
        folders = {stage: artefact.folder for stage, artefact in training.inputs.items()}
        if processes.is_first():
            finished(model, training.make(partial(_compute_together, training.recipe, folders)))
        else:
            set_level("quiet")
            _compute_together(training.recipe, folders, training.store.partial(training.name))


def _compute_together(recipe: Recipe, inputs: Mapping[str, Path], out: Path) -> None:
    train.compute(recipe, inputs, out)
    processes.total(0)  # nobody reads the folder any more, which the first process renames now


def trainings_of(run: Path) -> dict[str, TrainingJob]:
    """Return the models of a run that are prepared and not trained."""
    finished, store = FinishedRun.read(run), Store(run.parent / "artefacts")
    trainings = {}
    for model, made in finished.artefacts.items():
        if "train" in made:
            continue
        if missing := [stage for stage in TRAIN.inputs if stage not in made]:
            raise NotFoundError(
                f"{run} is not prepared: expected {missing[0]} of {model}, found none. "
                f"`accord run CONFIG --until encode` prepares it."
            )
        inputs = {stage: store.read(made[stage].name) for stage in TRAIN.inputs}
        recipe = Recipe.read(finished.params[model]["train"])
        trainings[model] = TrainingJob(store, recipe, inputs)
    return trainings


def record(run: Path, model: str, artefact: Artefact) -> None:
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
    together = processes.join()
    try:
        trainings, finished = trainings_of(arguments.run), partial(record, arguments.run)
        if not trainings:
            echo(f"{arguments.run}: nothing to train")
        if together:
            train_together(trainings, finished)
            processes.leave()
        else:
            train_models(trainings, Pool(arguments.at_once), finished)
    except AccordError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
