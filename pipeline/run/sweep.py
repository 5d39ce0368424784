"""Train packed models on another machine, several at a time.

`accord pack` writes a folder, `python -m accord.pipeline.run.sweep FOLDER…` trains the models in
it, and `accord unpack` takes them into the runs as if they had been trained there. Training needs
torch, numpy and safetensors only. A model that fails does not stop the others. A model is trained
after its teachers.

    torchrun --nproc-per-node 4 -m accord.pipeline.run.sweep FOLDER

trains one model after the other on all processes, on one machine or several. The first process
writes. `--on ray` trains each model on some node of a Ray cluster. All ways resume an interrupted
training.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr
from pathlib import Path

from accord.errors import AccordError
from accord.models.common.files import load_json
from accord.models.gpu import processes
from accord.pipeline.base.artefact import FORMAT, META, Artefact, hashes_of, write_json
from accord.pipeline.base.messages import LINE_EVERY, echo, say, set_level
from accord.pipeline.base.names import FIGURES
from accord.pipeline.data.encoded import READ_BY_TRAINING
from accord.pipeline.model.earlier_models import packed_recipe
from accord.pipeline.model.find import JOBS, TRAINED, packed_teachers, read_jobs, taught_by
from accord.pipeline.run.workers import AT_ONCE, PLACES, Pool, Task, Workers, side_by_side
from accord.pipeline.run.workers import workers as workers_of
from accord.pipeline.sections import EvaluateParams
from accord.pipeline.stages import evaluate, train

LOG = "log.txt"  # in the folder of a trained model: the messages of its training


def sweep(folders: Sequence[Path], workers: Workers | None = None) -> int:
    """Train and measure every job of packed folders that is not finished; how many failed."""
    rounds = [
        [(str(folder), name) for folder, name in names if not _is_finished(folder, name)]
        for names in _rounds(folders)
    ]
    if processes.join():
        for jobs in json.loads(processes.from_first(json.dumps(rounds).encode())):
            for folder, name in jobs:
                _together(Path(folder), name)
        processes.leave()
        return 0
    workers = workers or Pool()
    return sum(
        _side_by_side(workers, [_task(Path(f), name) for f, name in jobs]) for jobs in rounds
    )


def _rounds(folders: Sequence[Path]) -> Iterator[list[tuple[Path, str]]]:
    """All jobs, those in a later round whose teachers are in the rounds before."""
    jobs = {(folder, name): job for folder in folders for name, job in read_jobs(folder).items()}
    while jobs:
        ready = [
            (folder, name)
            for (folder, name), job in jobs.items()
            if not any((folder, teacher) in jobs for teacher in taught_by(job))
        ]
        if not ready:
            names = ", ".join(name for _, name in jobs)
            raise AccordError(f"{JOBS}: expected teachers before those they teach, got {names}")
        yield ready
        jobs = {key: job for key, job in jobs.items() if key not in ready}


def _is_finished(folder: Path, name: str) -> bool:
    return (folder / TRAINED / name / FIGURES).exists()


def _task(folder: Path, name: str) -> Task:
    """The training and measuring of a job."""
    job = read_jobs(folder)[name]
    teachers = [*packed_teachers(job), *(f"{TRAINED}/{each}" for each in taught_by(job))]
    reads = (JOBS, *job["inputs"].values(), *teachers)
    function = "accord.pipeline.run.sweep:train_and_measure"
    return Task(function, folder, (name,), reads, f"{TRAINED}/{name}")


def _side_by_side(workers: Workers, tasks: Sequence[Task]) -> int:
    """Run jobs several at a time and show how far they are; return how many failed."""
    failed = 0
    for task, ended in side_by_side(workers, tasks, _progress(tasks)):
        name = task.arguments[0]
        if error := ended.exception():
            echo(f"{name}: failed: {error}", error=True)
            failed += 1
        else:
            echo(f"{name}: {ended.result()}")
    return failed


def _progress(tasks: Sequence[Task]) -> Callable[[], None]:
    """A function that shows the last line of each training's log now and then, where it is new."""
    shown: dict[str, str] = {}
    last = time.monotonic()

    def show() -> None:
        nonlocal last
        if time.monotonic() < last + LINE_EVERY:
            return
        last = time.monotonic()
        for task in tasks:
            log, name = task.folder / task.writes / LOG, task.arguments[0]
            *_, line = ["", *(log.read_text().splitlines() if log.exists() else ())]
            if line and shown.get(name) != line:
                shown[name] = line
                say(f"  {name}: {line.strip()}")

    return show


def _together(folder: Path, name: str) -> None:
    """Train one model on all processes, and measure it on the first."""
    if processes.is_first():
        echo(f"{name}: {train_and_measure(folder, name)}")
    else:
        set_level("quiet")
        _train(folder, name)


def train_and_measure(folder: Path, name: str) -> str:
    """Run a job of a packed folder; returns its figures in a line."""
    out = folder / TRAINED / name
    out.mkdir(parents=True, exist_ok=True)
    with (out / LOG).open("a") as log, redirect_stderr(log):
        evaluate.compute(EvaluateParams(), _train(folder, name), out)
    hashes = {file: digest for file, digest in hashes_of(out).items() if file != LOG}
    write_json(out / META, {"format": FORMAT, "files": hashes})
    figures = load_json(out / FIGURES, dict, finite=False)
    return (
        ", ".join(
            f"{split} {values[metric]:.{digits}f}"
            for metric, digits in (("perplexity", 1), ("accuracy", 3))
            for split, values in figures.items()
            if metric in values
        )
        + f"; best epoch {figures['train']['best epoch']:.0f}, {figures['train']['seconds']:.0f} s"
    )


def _train(folder: Path, name: str) -> dict[str, Path]:
    """Train a packed model after checking its files; return all that its evaluation needs."""
    job = read_jobs(folder)[name]
    for teacher in taught_by(job):
        if not _is_finished(folder, teacher):
            raise AccordError(f"expected its teacher {teacher} to be trained, which is not")
    inputs = {stage: folder / artefact for stage, artefact in job["inputs"].items()}
    for stage, files in READ_BY_TRAINING.items():
        Artefact.read(inputs[stage]).check(files)
    inputs["train"] = folder / TRAINED / name
    train.compute(packed_recipe(folder, job), inputs, inputs["train"])
    return inputs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+", help="what `accord pack` wrote")
    parser.add_argument("--on", choices=PLACES, default="pool", help="this machine, or a cluster")
    at_once = f"models trained side by side; default: {AT_ONCE}, on Ray all that there is room for"
    parser.add_argument("--at-once", type=int, help=at_once)
    parser.add_argument("--cpus", type=float, default=1, help="of each model, on Ray")
    parser.add_argument("--gpus", type=float, help="of each model, on Ray; perhaps a fraction")
    arguments = parser.parse_args()
    for folder in arguments.folders:
        if not (folder / JOBS).is_file():
            parser.error(f"{folder}: expected a folder that `accord pack` wrote, with {JOBS}")
    try:
        chosen = workers_of(arguments.on, arguments.at_once, arguments.cpus, arguments.gpus)
    except ValueError as error:
        parser.error(str(error))
    sys.exit(bool(sweep(arguments.folders, chosen)))


if __name__ == "__main__":
    main()
