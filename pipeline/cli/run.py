"""Commands that train: `accord run`, `fetch` and `config`.

Imports for stages are inside functions: `fetch` and `config PRESET` need no pandas.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from accord.errors import AccordError
from accord.pipeline.base.artefact import faults
from accord.pipeline.base.messages import echo
from accord.pipeline.base.names import FACTORS
from accord.pipeline.base.tables import print_table
from accord.pipeline.cli.console import FAILED, AtLeast1, Configuration, command, model_names
from accord.pipeline.config.configuration import preset_text
from accord.pipeline.data import fetch as fetching
from accord.pipeline.data.catalogue import SOURCES

if TYPE_CHECKING:
    from accord.pipeline.config.configuration import Config
    from accord.pipeline.run.pool import Pool


@command
def run(
    config: Configuration = "default",
    set: list[str] | None = None,
    models: list[str] | None = None,
    name: str | None = None,
    until: str | None = None,
    force: list[str] | None = None,
    seeds: int = 1,
    runs: Path = Path("runs"),
    on: str | None = None,
    shards: Annotated[int | None, AtLeast1] = None,
    at_once: Annotated[int | None, AtLeast1] = None,
    cpus: float = 1,
    gpus: float | None = None,
    status: bool = False,
    verify: bool = False,
) -> None:
    """Train the models of a configuration: run each stage that is not done, print results.

    Args:
        models (MODEL,…): Take only these models of the configuration. Can be repeated.
        name: Name of the run's folder, if not the configuration's own.
        until (STAGE): Stop after this stage.
        force (STAGE): Run this stage even if it is done. Can be repeated.
        on (PLACE): Train several models at a time: in processes of this machine (pool), or on a Ray
            cluster (ray). Default: one after the other.
        shards: Prepare a large text in this many shards, by processes or as --on says. The result
            is the same; a run that was killed resumes with the finished shards.
        at_once: Most models or shards at a time; default: 4 processes, on Ray no limit.
        cpus: With --on ray: cores of each model.
        gpus: With --on ray: GPUs of each model, such as 0.25; default 1, if any.
        status: Run nothing: show whether each stage is done, stale or missing, and why.
        verify: Run nothing: read every file of the run and name changed or damaged ones.
    """
    from accord.pipeline.config.configuration import load_config

    chosen = model_names(models)
    if status:
        _show_status(load_config(config, set or (), chosen, name), runs)
        return
    if verify:
        _verify(runs / load_config(config, set or (), chosen, name).name)
        return
    from accord.pipeline.model.comparison import comparison_table, scores
    from accord.pipeline.run.pool import Shards
    from accord.pipeline.run.run import run as bring_up_to_date

    workers = _workers(on or "pool", at_once, cpus, gpus) if on or shards else None
    finished = bring_up_to_date(
        config,
        set=set or (),
        models=chosen,
        name=name,
        seeds=seeds,
        until=until,
        force=force or (),
        runs=runs,
        shards=Shards(shards, workers) if shards else None,
        workers=workers if on else None,
    )
    report = finished.folder / "report"
    if until in {None, "report"}:
        print_table(comparison_table(scores(finished.folder)))
        echo((report / FACTORS).read_text(encoding="utf-8"), end="")
        echo(f"report: {report / 'index.html'}")


def _workers(place: str, at_once: int | None, cpus: float, gpus: float | None) -> "Pool":
    from accord.pipeline.integrations.ray import Ray
    from accord.pipeline.run.pool import Pool

    if place == "ray":
        return Ray(cpus, gpus, at_once)
    if place != "pool":
        raise AccordError(f"--on: expected pool or ray, got {place}")
    return Pool(at_once)


def _show_status(config: "Config", runs: Path) -> None:
    """Print where each stage of each model stands: a table on a terminal, else lines."""
    import pandas as pd

    from accord.pipeline.run.run import Run

    stages = list(Run(config, runs).status())
    if sys.stdout.isatty():
        rows = [(status.stage.name, status.model, status.state, status.why) for status in stages]
        print_table(pd.DataFrame(rows, columns=["stage", "model", "state", "artefact or reason"]))
        return
    widest = max(len(status.model) for status in stages)
    for status in stages:
        echo(f"{status.stage.name:11}{status.model:{widest}}  {status.state:9}{status.why}")


def _verify(run: Path) -> None:
    """Read every file of a run; print the faults, and fail if there are any."""
    problems = list(dict.fromkeys(faults(run)))
    for problem in problems:
        echo(problem)
    if problems:
        raise typer.Exit(FAILED)
    echo(f"{run}: all files are as they were written")


@command
def fetch(sources: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """Download corpora and lexicons into the data folder and check their hashes.

    Args:
        sources (NAME): Sources to download. Without any, all are listed.
    """
    for source in sources or ():
        echo(fetching.fetch(source))
    if not sources:
        for name, source in sorted(SOURCES.items()):
            echo(f"{name:26}{source.origin}, {source.licence}")


@command
def config(
    preset: Annotated[str | None, typer.Argument()] = None,
    stages: bool = False,
    schema: bool = False,
) -> None:
    """Explain every key of a configuration, or print a preset to copy.

    Args:
        preset (PRESET): Preset whose file is printed.
        stages: Show what each stage does, reads and writes.
        schema: Print the JSON schema of a configuration, for editors.
    """
    if preset:
        echo(preset_text(preset), end="")
    elif stages:
        import pandas as pd

        from accord.pipeline.stages.table import declared

        print_table(pd.DataFrame(declared()))
    elif schema:
        from accord.pipeline.config.configuration import editor_schema

        echo(editor_schema(), end="")
    else:
        from accord.pipeline.config.configuration import explain
        from accord.pipeline.stages.table import STAGES

        echo(explain({name: stage.help for name, stage in STAGES.items()}), end="")
