"""The command line: `accord`."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli import agree as cli_agree
from pipeline.cli import bench as cli_bench
from pipeline.cli import console
from pipeline.cli import lexicon as cli_lexicon
from pipeline.cli import model as cli_model
from pipeline.cli import results as cli_results
from pipeline.cli import score as cli_score
from pipeline.cli import surprisal as cli_surprisal
from pipeline.cli.console import Configuration, Runs, Seeds, Set, command, print_table

app = typer.Typer(
    help="Morphology-aware language models for French: run the stages, look at the results.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(cli_lexicon.app, name="lexicon")
app.add_typer(cli_bench.app, name="bench")
app.add_typer(cli_results.app)  # its commands stand beside those below
app.add_typer(cli_model.app)
app.add_typer(cli_score.app)
app.add_typer(cli_surprisal.app)
app.add_typer(cli_agree.app)
app.add_typer(cli_agree.suite_app, name="suite")


@app.callback()
def main(
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say only what failed.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Say more; show tracebacks of errors.")
    ] = False,
) -> None:
    from pipeline.display.progress import set_level

    console.tracebacks = verbose
    set_level("quiet" if quiet else "verbose" if verbose else "normal")


@command(app)
def run(
    config: Configuration = "default",
    set: Set = None,
    until: Annotated[str | None, typer.Option(metavar="STAGE", help="Stop after it.")] = None,
    force: Annotated[
        list[str] | None, typer.Option(metavar="STAGE", help="Run it even if it is done.")
    ] = None,
    seeds: Seeds = 1,
    runs: Runs = Path("runs"),
) -> None:
    """Run all stages that are not done, and show the comparison."""
    from pipeline import api

    finished = api.run(
        config, set=set or (), seeds=seeds, until=until, force=force or (), runs=runs
    )
    report = finished.folder / "report"
    if until in {None, "report"}:
        print((report / "table.md").read_text(encoding="utf-8"), end="")
        print(f"report: {report / 'index.html'}")


@command(app)
def stages(
    config: Configuration = "default",
    set: Set = None,
    runs: Runs = Path("runs"),
    declared: Annotated[
        bool, typer.Option("--declared", help="What each stage does, reads and writes.")
    ] = False,
) -> None:
    """Show the stages of a configuration: done, stale or missing, and why."""
    import pandas as pd

    from pipeline.config.configuration import load_config
    from pipeline.runner.run import Run
    from pipeline.stages import order

    if declared:
        print_table(pd.DataFrame(order.declared()))
        return
    found = list(Run(load_config(config, set or ()), runs).status())
    widest = max(len(status.model) for status in found)
    for status in found:
        print(f"{status.stage.name:11}{status.model:{widest}}  {status.state:9}{status.why}")


@command(app)
def pack(
    config: Configuration = "default",
    to: Annotated[Path, typer.Option(help="The folder to write.")] = Path("packed"),
    set: Set = None,
    seeds: Seeds = 1,
    runs: Runs = Path("runs"),
) -> None:
    """Prepare all models of a run for training elsewhere, by `python -m pipeline.runner.sweep`."""
    from pipeline import api

    jobs = api.pack(config, to, set=set or (), seeds=seeds, runs=runs)
    print(f"{len(jobs)} models packed into {to}")


@command(app)
def unpack(
    folder: Annotated[Path, typer.Argument(help="A packed folder whose models were trained.")],
    runs: Runs = Path("runs"),
) -> None:
    """Take models that were trained elsewhere into the runs; `accord run` then goes on."""
    from pipeline import api

    print(f"taken in: {', '.join(api.unpack(folder, runs=runs)) or 'nothing was finished'}")


@command(app)
def fetch(
    sources: Annotated[
        list[str] | None, typer.Argument(metavar="NAME…", help="None: list what there is.")
    ] = None,
) -> None:
    """Bring corpora and lexicons into the data folder, checked by their hashes."""
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
        str | None, typer.Argument(metavar="PRESET", help="Print this preset, to copy it.")
    ] = None,
) -> None:
    """Explain every key of the configuration, or print a preset's file."""
    if preset:
        from pipeline.config.files import preset_text

        print(preset_text(preset), end="")
    else:
        from pipeline.config.help import explain  # which imports every stage

        print(explain(), end="")


if __name__ == "__main__":
    app()
