"""A page to type into: `accord page`."""

import signal
import threading
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from accord.errors import AccordError
from accord.pipeline.base.messages import echo, track
from accord.pipeline.cli.console import command
from accord.pipeline.cli.options import load_model
from accord.pipeline.model.find import BUNDLED, find, is_run
from accord.pipeline.page.answers import Models
from accord.pipeline.page.server import PageServer

PORT = 8420


@command
def page(
    run: list[Path] | None = None,
    port: Annotated[int, typer.Option(min=0, max=65535)] = PORT,
    host: str = "127.0.0.1",
    save: Path | None = None,
    sentences: Path | None = None,
) -> None:
    """Serve a local web page to type, explain, change and compare sentences.

    Args:
        run (FOLDER|ID): Folder of a run, whose models are all offered, or of an exported model, or
            hf:OWNER/NAME on the Hugging Face hub; by default the bundled model. Can be repeated.
        port: Port; 0 takes a free one.
        host: Address to serve on; by default only this machine can ask.
        save (FOLDER): Write a page with the answers to --sentences, which works without a server.
        sentences (FILE): Sentences to save: one a line, a second one after a tab.
    """
    loaders = _loaders(run or [Path(BUNDLED)])
    if save or sentences:
        _save(Models(loaders), save, sentences)
        return
    models = Models(loaders)
    with PageServer(models, host, port) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            if run:  # a run may be missing: then only the error is printed
                models.load_first()
            # The system ends the process at once. Python would first wait for its own turn, which a
            # search in a text can keep for long.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            echo(f"{server.address}  (Ctrl-C ends it)")
            models.load_first()
            models.prepare_first()
            threading.Event().wait()
        finally:
            server.shutdown()


def _save(models: Models, folder: Path | None, sentences: Path | None) -> None:
    from accord.pipeline.page.saved import SavedPage, read_lessons

    if folder is None or sentences is None:
        raise AccordError("expected both --save FOLDER and --sentences FILE, found one of them")
    lessons = read_lessons(sentences)
    page = SavedPage(models, lessons)
    for _ in track(page.gather(), "steps", len(page)):
        pass
    echo(f"written: {page.write(folder)}")


def _loaders(runs: list[Path]) -> dict[str, partial]:
    """Return the loader of each model by name; the last model of a run comes first."""
    names = [run.name for run in runs]
    several = len(runs) > 1
    loaders: dict[str, partial] = {}
    for run in runs:
        name = run.name if names.count(run.name) == 1 else str(run)
        models = [model.name for model in find(run)] if is_run(run) else []
        if not models:  # a single model, or an error when it is loaded
            loaders[name] = partial(load_model, run, None)
        for model in reversed(models):
            loaders[f"{name}/{model}" if several else model] = partial(load_model, run, model)
    return loaders
