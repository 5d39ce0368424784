"""Prepared models in one folder: packed here, trained on another machine, taken back.

The folder holds Accord's code too. A machine with Python, torch, numpy and safetensors trains the
models without an install: `cd FOLDER && python -m accord.pipeline.run.sweep .`
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from accord.errors import AccordError
from accord.models.common.files import WEIGHTS
from accord.models.common.registry import outside_files
from accord.pipeline.base.artefact import (
    ARTEFACTS,
    META,
    Artefact,
    hash_of_value,
    name_of,
    write_json,
)
from accord.pipeline.base.messages import counted
from accord.pipeline.base.names import FIGURES
from accord.pipeline.base.store import Store
from accord.pipeline.model.earlier_models import (
    packed_recipe,
    take_teachers_along,
    teachers_in_folder,
)
from accord.pipeline.model.find import JOBS, RUNS, TRAINED, read_jobs, taught_by
from accord.pipeline.run.run import Run, content_of, run
from accord.pipeline.run.shards import Shards
from accord.pipeline.run.sweep import sweep
from accord.pipeline.run.workers import Workers
from accord.pipeline.stages.table import STAGES, above


def pack(
    config: str,
    folder: Path,
    *,
    set: Mapping[str, Any] | Sequence[str] = (),
    models: Sequence[str] = (),
    name: str | None = None,
    seeds: int = 1,
    runs: str | Path = RUNS,
    force: Sequence[str] = (),
    shards: Shards | None = None,
    trained: bool = True,
) -> dict[str, dict]:
    """Prepare the models of a configuration and copy the files that training reads to a folder.

    Models that are trained already are packed too, unless `trained` is false. Returns the jobs, by
    model.
    """
    chosen = {"set": set, "models": models, "name": name, "seeds": seeds, "runs": runs}
    prepared = run(config, **chosen, force=force, until=above("train")[-1], shards=shards)
    jobs: dict[str, dict] = {}
    for model in prepared.config.models:
        job = _job(prepared, model, folder, jobs)
        if trained or not prepared.store.find(job.get("artefact", "")):
            jobs[model] = job
    folder.mkdir(parents=True, exist_ok=True)
    for artefact in {name for job in jobs.values() for name in job["inputs"].values()}:
        shutil.copytree(prepared.store.path(artefact), folder / artefact, dirs_exist_ok=True)
    write_json(folder / JOBS, jobs)
    with as_file(files("accord")) as package:
        shutil.copytree(package, folder / "accord", ignore=_all_but_code, dirs_exist_ok=True)
    return jobs


def _all_but_code(folder: str, names: list[str]) -> list[str]:
    """Files and folders of a package that a training does not read."""
    paths = [Path(folder, name) for name in names]
    return [path.name for path in paths if not (path.suffix == ".py" or _is_package(path))]


def _is_package(path: Path) -> bool:
    return (path / "__init__.py").is_file()


def _job(prepared: Run, model: str, folder: Path, before: dict[str, dict]) -> dict[str, Any]:
    """A model to train and measure; its teachers may be among the jobs before it."""
    sections, training = prepared.config.models[model], STAGES["train"]
    section = sections["train"]
    if taught := teachers_in_folder(section, folder, before):
        training = replace(training, files=outside_files)  # the teachers' are not there yet
    recipe, artefact = prepared.recipe(model, training)
    names = [] if taught else take_teachers_along(section, training.inputs, folder)
    # The vocabulary too, so that what was trained elsewhere can be asked before it is unpacked.
    read = {*STAGES["train"].inputs, *STAGES["evaluate"].inputs, "analyse"}
    return {
        "protocol": sections["analyse"].protocol,
        "recipe": asdict(replace(section, teachers=replace(section.teachers, models=names))),
        "inputs": {
            stage: made.folder.name
            for (of_model, stage), made in prepared.artefacts.items()
            if of_model == model and stage in read
        },
        "made from": recipe,
        **({"taught by": taught} if taught else {"artefact": artefact}),
    }


def run_on(
    workers: Workers,
    config: str,
    *,
    set: Mapping[str, Any] | Sequence[str] = (),
    models: Sequence[str] = (),
    name: str | None = None,
    seeds: int = 1,
    until: str | None = None,
    force: Sequence[str] = (),
    runs: str | Path = RUNS,
    shards: Shards | None = None,
) -> Run:
    """The same as `run`, but the workers train the models.

    The packed models stay among the runs until all are trained: the same call resumes.
    """
    chosen = {"set": set, "models": models, "name": name, "seeds": seeds, "runs": runs}
    if "train" in force:
        raise AccordError("force: expected a stage that runs here, got train, which runs elsewhere")
    if until in above("train"):
        return run(config, **chosen, until=until, force=force, shards=shards)
    packed = (
        Path(runs) / f".packed-{hash_of_value([config, name, str(set), [*models], seeds])[:16]}"
    )
    first = [stage for stage in force if stage in above("train")]
    jobs = pack(config, packed, **chosen, force=first, shards=shards, trained=False)
    failed = sweep([packed], workers)
    unpack(packed, runs=runs)
    if failed:
        raise AccordError(f"{failed} of {counted(len(jobs), 'model')} failed: see above")
    shutil.rmtree(packed)
    return run(config, **chosen, until=until, force=[each for each in force if each not in first])


def unpack(folder: Path, *, runs: str | Path = RUNS) -> list[str]:
    """Put the models trained in a packed folder where a run finds them; returns their names."""
    store = Store(Path(runs) / ARTEFACTS)
    taken = []
    for model, job in read_jobs(folder).items():
        trained = folder / TRAINED / model
        if (trained / WEIGHTS).exists() and (trained / FIGURES).exists():
            if (trained / META).exists():  # a folder trained by an earlier version has none
                Artefact.read(trained).check()
            recipe = _made_from(folder, job)
            artefact = job.get("artefact") or name_of(recipe)
            store.make(artefact, recipe, partial(_copy_outputs, trained), False)
            taken.append(model)
    return taken


def _made_from(folder: Path, job: dict) -> dict[str, Any]:
    """All that a model depends on, including the files of teachers that were trained with it."""
    if not taught_by(job):
        return job["made from"]
    stage = STAGES["train"]
    data = content_of(stage.files(packed_recipe(folder, job)))
    return {**job["made from"], "stage": stage.name, "data": data}


def _copy_outputs(trained: Path, out: Path) -> None:
    for name in STAGES["train"].outputs:
        if (trained / name).exists():  # there is no steps.csv of a model that is only counted
            shutil.copy(trained / name, out / name)
