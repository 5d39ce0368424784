"""`accord combine`: models together, and what each brought."""

from typing import Annotated

import typer

from pipeline.console import command, print_table

app = typer.Typer()


@command(app)
def combine(
    parts: Annotated[
        list[str], typer.Argument(metavar="RUN/MODEL…", help="RUN alone: all models of it.")
    ],
    cache: Annotated[bool, typer.Option("--cache", help="Add a cache of recent words.")] = False,
    uniform: Annotated[
        bool, typer.Option("--uniform", help="The same weight for all, as in an ensemble.")
    ] = False,
    log_linear: Annotated[
        bool, typer.Option("--log-linear", help="Multiply powers of the probabilities.")
    ] = False,
) -> None:
    """Combine models that were scored: weights tuned on validation, perplexity with and without."""
    from pipeline import combine as combining
    from pipeline.scored import find

    if log_linear and (cache or uniform):
        raise ValueError("--log-linear tunes its weights and takes no cache; expected it alone")
    models = [model for part in parts for model in find(part)]
    if log_linear:
        print_table(combining.log_linear(models))
    else:
        print_table(combining.linear(models, cache=cache, uniform=uniform))
