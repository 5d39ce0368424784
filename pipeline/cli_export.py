"""`accord export`: a trained model as one folder."""

from pathlib import Path
from typing import Annotated

import typer

from pipeline.console import command

app = typer.Typer()


@command(app)
def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished run.")],
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model of the run.")],
    to: Annotated[Path, typer.Option(help="The folder to write.")],
) -> None:
    """Write a trained model with its card into one folder, which `load` takes anywhere."""
    from pipeline import api

    print(api.export(run, model, to))
