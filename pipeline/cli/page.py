"""A page to type into: `accord page`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.console import command
from pipeline.cli.model import load_model
from pipeline.inference.default_model import DEFAULT_RUN

app = typer.Typer()
PORT = 8420


@command(app)
def page(
    run: Annotated[
        list[Path] | None,
        typer.Option(
            "--run",
            metavar="FOLDER|ID",
            help="Folder of a run, whose models are all offered, or of an exported model, or the "
            "id of one on the Hugging Face hub. Can be repeated.",
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = PORT,
    host: Annotated[
        str, typer.Option(help="Address to serve on; by default only this machine can ask.")
    ] = "127.0.0.1",
) -> None:
    """Serve a page on which sentences can be typed, explained, changed and compared."""
    from pipeline.page.questions import Models
    from pipeline.page.server import PageServer

    models = Models(_loaders(run or [DEFAULT_RUN]))
    with PageServer(models, host, port) as server:
        models.model(models.names[0])  # what is asked first is there when the address is said
        print(f"{server.address}  (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


def _loaders(runs: list[Path]) -> dict[str, partial]:
    """How each model is loaded: those of a run by name, the last first, as other commands ask it."""
    from pipeline.runner.finished import Finished

    found: dict[tuple[str, str], partial] = {}
    for run in runs:
        if not (run / "run.json").exists():
            found[run.name, ""] = partial(load_model, run, None)
            continue
        models = [name for name, made in Finished.read(run).artefacts.items() if "train" in made]
        for model in reversed(models):
            found[run.name, model] = partial(load_model, run, model)
    several = len(runs) > 1
    return {
        "/".join(filter(None, (run, model))) if several or not model else model: load
        for (run, model), load in found.items()
    }
