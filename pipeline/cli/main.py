"""The command line: `accord`."""

import atexit
import gc
from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli import agree as cli_agree
from pipeline.cli import condition as cli_condition
from pipeline.cli import confusions as cli_confusions
from pipeline.cli import console
from pipeline.cli import lexicon as cli_lexicon
from pipeline.cli import model as cli_model
from pipeline.cli import page as cli_page
from pipeline.cli import results as cli_results
from pipeline.cli import score as cli_score
from pipeline.cli import surprisal as cli_surprisal
from pipeline.cli.console import Configuration, Models, Name, Runs, Seeds, Set, command, print_table

app = typer.Typer(
    cls=console.Group,
    help="Train language models that know French morphology, compare them, and question them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(cli_lexicon.app, name="lexicon")
app.add_typer(cli_results.app)  # its commands stand beside those below
app.add_typer(cli_model.app)
app.add_typer(cli_condition.app)
app.add_typer(cli_score.app)
app.add_typer(cli_surprisal.app)
app.add_typer(cli_page.app)
app.add_typer(cli_agree.app)
app.add_typer(cli_agree.suite_app, name="suite")
app.add_typer(cli_confusions.app)


@app.callback()
def main(
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only results and errors.")
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", help="Print more on what is done, and the traceback of an error."
        ),
    ] = False,
) -> None:
    from pipeline.display.progress import set_level

    console.tracebacks = verbose
    set_level("quiet" if quiet else "verbose" if verbose else "normal")


@command(app)
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
) -> None:
    """Run every stage of a configuration that is not done, and print how its models compare."""
    from pipeline.runner.run import run as bring_up_to_date

    finished = bring_up_to_date(
        config,
        set=set or (),
        models=models or (),
        name=name,
        seeds=seeds,
        until=until,
        force=force or (),
        runs=runs,
    )
    report = finished.folder / "report"
    if until in {None, "report"}:
        print((report / "table.md").read_text(encoding="utf-8"), end="")
        print(f"report: {report / 'index.html'}")


@command(app)
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

    from pipeline.config.configuration import load_config
    from pipeline.runner.run import Run
    from pipeline.stages import table

    if declared:
        print_table(pd.DataFrame(table.declared()))
        return
    found = list(Run(load_config(config, set or (), models or (), name), runs).status())
    widest = max(len(status.model) for status in found)
    for status in found:
        print(f"{status.stage.name:11}{status.model:{widest}}  {status.state:9}{status.why}")


@command(app)
def pack(
    config: Configuration = "default",
    to: Annotated[Path, typer.Option(help="Folder to write the models to.")] = Path("packed"),
    set: Set = None,
    models: Models = None,
    name: Name = None,
    seeds: Seeds = 1,
    runs: Runs = Path("runs"),
) -> None:
    """Prepare models for training elsewhere with `python -m pipeline.runner.sweep`."""
    from pipeline.runner.pack import pack as pack_models

    jobs = pack_models(
        config, to, set=set or (), models=models or (), name=name, seeds=seeds, runs=runs
    )
    print(f"{len(jobs)} models packed into {to}")


@command(app)
def unpack(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Packed folder whose models were trained.")
    ],
    runs: Runs = Path("runs"),
) -> None:
    """Take in models that were trained elsewhere, so that `accord run` goes on with them."""
    from pipeline.runner.pack import unpack as take_in

    print(f"taken in: {', '.join(take_in(folder, runs=runs)) or 'nothing was finished'}")


@command(app)
def fetch(
    sources: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Sources to download. Without any, all are listed."),
    ] = None,
) -> None:
    """Download corpora and lexicons into the data folder, and check their hashes."""
    from pipeline.data import fetch as fetching
    from pipeline.data.catalogue import origin, source_names

    for source in sources or ():
        print(fetching.fetch(source))
    if not sources:
        for name in source_names():
            print(f"{name:26}{origin(name)}")


@command(app)
def config(
    preset: Annotated[
        str | None, typer.Argument(metavar="PRESET", help="Preset whose file is printed.")
    ] = None,
) -> None:
    """Explain every key of a configuration, or print the file of a preset to copy it."""
    if preset:
        from pipeline.config.files import preset_text

        print(preset_text(preset), end="")
    else:
        from pipeline.config.help import explain  # which imports every stage

        print(explain(), end="")


def program() -> None:
    """`accord` as a process of its own.

    An import of torch makes a quarter of a million objects, and all of them stay. To look for
    garbage among them as they come, and again at the end, is half a second of every command.
    """
    gc.set_threshold(300_000)
    atexit.register(gc.freeze)
    app()


if __name__ == "__main__":
    program()
