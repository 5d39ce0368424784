"""Commands that train: `accord run`, `stages`, `pack`, `unpack`, `fetch` and `config`.

Imports for stages are inside functions: `fetch` and `config PRESET` need no pandas.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from accord.pipeline.base.messages import counted, echo
from accord.pipeline.base.names import FACTORS
from accord.pipeline.base.tables import print_markdown, print_table
from accord.pipeline.cli.console import (
    Configuration,
    Models,
    Name,
    Runs,
    Seeds,
    Set,
    command,
)
from accord.pipeline.config.presets import preset_text
from accord.pipeline.data import fetch as fetching
from accord.pipeline.data.catalogue import origin, source_names


@command
def run(
    config: Configuration = "default",
    set: Set = None,
    models: Models = None,
    name: Name = None,
    until: Annotated[
        str | None, typer.Option(metavar="STAGE", help="Stop after this stage.")
    ] = None,
    force: Annotated[
        list[str] | None,
        typer.Option(metavar="STAGE", help="Run this stage even if it is done. Can be repeated."),
    ] = None,
    seeds: Seeds = 1,
    runs: Runs = Path("runs"),
    on: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help="Train several models at a time: in processes of this machine (pool), or on a "
            "Ray cluster (ray). Default: one after the other.",
        ),
    ] = None,
    shards: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Prepare a large text in this many shards, by processes or as --on says. The "
            "result is the same; a run that was killed resumes with the shards that are done.",
        ),
    ] = None,
    at_once: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Most models or shards at a time; default: 4 processes, on Ray no limit.",
        ),
    ] = None,
    cpus: Annotated[float, typer.Option(help="With --on ray: cores of each model.")] = 1,
    gpus: Annotated[
        float | None,
        typer.Option(help="With --on ray: GPUs of each model, such as 0.25; default 1, if any."),
    ] = None,
) -> None:
    """Train the models of a configuration: run each stage that is not done, print the results."""
    chosen = {"set": set or (), "models": models or (), "name": name, "seeds": seeds, "runs": runs}
    chosen |= {"until": until, "force": force or ()}
    from accord.pipeline.run.run import run as bring_up_to_date
    from accord.pipeline.run.shards import Shards
    from accord.pipeline.run.workers import workers

    place = workers(on or "pool", at_once, cpus, gpus) if on or shards else None
    if shards:
        chosen["shards"] = Shards(shards, place)
    if on:
        from accord.pipeline.run.pack import run_on  # which loads torch

        finished = run_on(place, config, **chosen)
    else:
        finished = bring_up_to_date(config, **chosen)
    report = finished.folder / "report"
    if until in {None, "report"}:
        print_markdown((report / "table.md").read_text(encoding="utf-8"))
        echo((report / FACTORS).read_text(encoding="utf-8"), end="")
        echo(f"report: {report / 'index.html'}")


@command
def stages(
    config: Configuration = "default",
    set: Set = None,
    models: Models = None,
    name: Name = None,
    runs: Runs = Path("runs"),
    declared: Annotated[
        bool, typer.Option("--declared", help="Show what each stage does, reads and writes.")
    ] = False,
) -> None:
    """Show whether each stage of a configuration is done, stale or missing, and why."""
    import pandas as pd

    from accord.pipeline.config.configuration import load_config
    from accord.pipeline.run.run import Run
    from accord.pipeline.stages import table

    if declared:
        print_table(pd.DataFrame(table.declared()))
        return
    found = list(Run(load_config(config, set or (), models or (), name), runs).status())
    if sys.stdout.isatty():
        rows = [(each.stage.name, each.model, each.state, each.why) for each in found]
        print_table(pd.DataFrame(rows, columns=["stage", "model", "state", "artefact or reason"]))
        return
    widest = max(len(status.model) for status in found)
    for status in found:
        echo(f"{status.stage.name:11}{status.model:{widest}}  {status.state:9}{status.why}")


@command
def pack(
    config: Configuration = "default",
    to: Annotated[Path, typer.Option(help="Folder to write the models to.")] = Path("packed"),
    set: Set = None,
    models: Models = None,
    name: Name = None,
    seeds: Seeds = 1,
    runs: Runs = Path("runs"),
) -> None:
    """Pack models and the code that trains them for another machine."""
    from accord.pipeline.run.pack import pack as pack_models

    jobs = pack_models(
        config, to, set=set or (), models=models or (), name=name, seeds=seeds, runs=runs
    )
    echo(f"{counted(len(jobs), 'model')} packed into {to}")


@command
def unpack(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Packed folder whose models were trained.")
    ],
    runs: Runs = Path("runs"),
) -> None:
    """Take in models trained on another machine, so that `accord run` can continue."""
    from accord.pipeline.run.pack import unpack as take_in

    echo(f"taken in: {', '.join(take_in(folder, runs=runs)) or 'nothing was finished'}")


@command
def fetch(
    sources: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Sources to download. Without any, all are listed."),
    ] = None,
) -> None:
    """Download corpora and lexicons into the data folder and check their hashes."""
    for source in sources or ():
        echo(fetching.fetch(source))
    if not sources:
        for name in source_names():
            echo(f"{name:26}{origin(name)}")


@command
def config(
    preset: Annotated[
        str | None, typer.Argument(metavar="PRESET", help="Preset whose file is printed.")
    ] = None,
) -> None:
    """Explain every key of a configuration, or print a preset to copy."""
    if preset:
        echo(preset_text(preset), end="")
    else:
        from accord.pipeline.config.effects import explain

        echo(explain(), end="")
