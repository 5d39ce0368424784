"""Train packed models on another machine, several at a time.

`accord pack` writes a folder, `python -m accord.pipeline.runner.sweep FOLDER…` trains the models in
it, and `accord unpack` takes them into the runs as if they had been trained there. Training needs
torch, numpy and safetensors only. A model that fails does not stop the others. A model is trained
after its teachers.

    torchrun --nproc-per-node 4 -m accord.pipeline.runner.sweep FOLDER

trains one model after the other on all processes, on one machine or several. The first process
writes. Both ways resume an interrupted training.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import redirect_stderr
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread

from accord.models.common.files import load_json
from accord.models.training import processes
from accord.pipeline.artefacts.artefact import FORMAT, META, Artefact, hashes_of, write_json
from accord.pipeline.artefacts.names import FIGURES
from accord.pipeline.dataset.encoded import READ_BY_TRAINING
from accord.pipeline.display.messages import echo, set_level
from accord.pipeline.sections import EvaluateParams
from accord.pipeline.stages import evaluate, train
from accord.pipeline.trained.resolve import JOBS, TRAINED, read_jobs, taught_by
from accord.pipeline.trained.teachers import recipe_of

LOG = "log.txt"  # in the folder of a trained model: the messages of its training


def sweep(folders: Sequence[Path], at_once: int) -> int:
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
    with ThreadPoolExecutor(at_once) as pool:
        return sum(_side_by_side(pool, jobs) for jobs in rounds)


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
            raise ValueError(f"{JOBS}: expected teachers before those they teach, got {names}")
        yield ready
        jobs = {key: job for key, job in jobs.items() if key not in ready}


def _is_finished(folder: Path, name: str) -> bool:
    return (folder / TRAINED / name / FIGURES).exists()


def _side_by_side(pool: Executor, names: Sequence[tuple[str, str]]) -> int:
    """Run jobs several at a time; return how many failed."""
    failed = 0
    jobs = {pool.submit(_alone, Path(folder), name): name for folder, name in names}
    for job in as_completed(jobs):
        if error := job.exception():
            echo(f"{jobs[job]}: failed: {error}", error=True)
            failed += 1
        else:
            echo(f"{jobs[job]}: {job.result()}")
    return failed


def _alone(folder: Path, name: str) -> str:
    """Run a job in its own process: a failure on a GPU may make the process unusable."""
    with ProcessPoolExecutor(1, get_context("spawn"), _end_with_the_sweep) as fresh:
        return fresh.submit(_job, folder, name).result()


def _end_with_the_sweep() -> None:
    """End a training when its sweep is killed; otherwise the next sweep would train beside it."""

    def wait() -> None:
        parent_process().join()
        os._exit(1)

    Thread(target=wait, daemon=True).start()


def _together(folder: Path, name: str) -> None:
    """Train one model on all processes, and measure it on the first."""
    if processes.is_first():
        echo(f"{name}: {_job(folder, name)}")
    else:
        set_level("quiet")
        _train(folder, name)


def _job(folder: Path, name: str) -> str:
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
            raise ValueError(f"expected its teacher {teacher} to be trained, which is not")
    inputs = {stage: folder / artefact for stage, artefact in job["inputs"].items()}
    for stage, files in READ_BY_TRAINING.items():
        Artefact.read(inputs[stage]).check(files)
    inputs["train"] = folder / TRAINED / name
    train.compute(recipe_of(folder, job), inputs, inputs["train"])
    return inputs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+", help="what `accord pack` wrote")
    parser.add_argument("--at-once", type=int, default=4, help="models trained side by side")
    arguments = parser.parse_args()
    for folder in arguments.folders:
        if not (folder / JOBS).is_file():
            parser.error(f"{folder}: expected a folder that `accord pack` wrote, with {JOBS}")
    sys.exit(bool(sweep(arguments.folders, arguments.at_once)))


if __name__ == "__main__":
    main()
