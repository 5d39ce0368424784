"""`accord condition`: what it is worth to a model to know the labels of sentences."""

from typing import Annotated

import typer

from accord.pipeline.cli.console import command, print_table
from accord.pipeline.cli.model import Model, TrainedRun, load_model


@command
def condition(
    run: TrainedRun = None,
    model: Model = None,
    kind: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Kind of label to judge; by default the first one."),
    ] = None,
    split: Annotated[str, typer.Option(help="Split of the run to score.")] = "test",
) -> None:
    """Show the perplexity of sentences under their label, under none and under a wrong one."""
    from accord.pipeline.inference.held.condition import perplexities

    table = perplexities(load_model(run, model), kind, split)
    shown = {name: table[name].map("{:,.1f}".format) for name in ("right", "none", "wrong")}
    print_table(table.assign(words=table["words"].map("{:,}".format), **shown))
