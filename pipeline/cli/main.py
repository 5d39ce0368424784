"""The command line `accord`: a table of commands; each is imported when it is called."""

import atexit
import gc
import sys
from collections.abc import Mapping
from functools import cache
from io import TextIOWrapper
from typing import Annotated

import typer

from accord.pipeline.base.messages import echo, say, set_level
from accord.pipeline.cli import console
from accord.pipeline.cli.console import Group, Later

# Name → module:function; of a group, its rows and its line of help.
Rows = Mapping[str, "str | tuple[Rows, str]"]

SUITE: Rows = {"make": "accord.pipeline.cli.agree:make"}
LEXICON: Rows = {
    "list": "accord.pipeline.cli.lexicon:list_lexicons",
    "show": "accord.pipeline.cli.lexicon:show",
    "coverage": "accord.pipeline.cli.lexicon:coverage",
    "diff": "accord.pipeline.cli.lexicon:diff",
    "compare": "accord.pipeline.cli.lexicon:compare",
}
# Every command by its panel of `accord --help`, in the order in which people meet them.
PANELS: dict[str, Rows] = {
    "Ask a model": {
        "score": "accord.pipeline.cli.model:score",
        "explain": "accord.pipeline.cli.model:explain",
        "generate": "accord.pipeline.cli.model:generate",
        "correct": "accord.pipeline.cli.agree:correct",
        "vectors": "accord.pipeline.cli.model:vectors",
        "page": "accord.pipeline.cli.model:page",
    },
    "Stimuli": {
        "surprisal": "accord.pipeline.cli.surprisal:surprisal",
        "norms": "accord.pipeline.cli.surprisal:norms",
        "expect": "accord.pipeline.cli.surprisal:expect",
        "agree": "accord.pipeline.cli.agree:agree",
        "suite": (SUITE, "Make minimal pairs from your own sentences."),
    },
    "Train": {
        "run": "accord.pipeline.cli.run:run",
        "config": "accord.pipeline.cli.run:config",
        "fetch": "accord.pipeline.cli.run:fetch",
        "export": "accord.pipeline.cli.results:export",
    },
    "Compare": {
        "lexicon": (LEXICON, "Look words up in lexicons; measure, compare and swap lexicons."),
        "compare": "accord.pipeline.cli.results:compare",
        "combine": "accord.pipeline.cli.results:combine",
        "audit": "accord.pipeline.cli.results:audit",
    },
}
# Commands of earlier versions → the commands of this one that do the same.
Group.moved = {
    "cite": "surprisal --cite",
    "condition": "score SPLIT --labels KIND",
    "nearest": "vectors WORD",
    "analogy": "vectors --analogy A B C",
    "odd": "vectors --odd WORD…",
    "inflection": "vectors --inflection",
    "stages": "run CONFIG --status",
    "verify": "run CONFIG --verify",
    "significance": "compare RUN --against MODEL",
    "tables": "compare RUN --paper",
    "bidirectional": "combine --bidirectional",
    "corrections": "correct --suite FILE",
    "suite plant": "suite make --errors",
    "nbest": "rescore --make",
    "lexicon guesser": "lexicon coverage --guesser",
    "prune": "compare RUN/MODEL --pruned 50,80,90",
    "pack": "run CONFIG --until encode`, a copy of the folder runs, and there "
    "`python -m accord.pipeline.run.train runs/NAME",
    "unpack": "run CONFIG`, after the folder runs is copied back: there is nothing to unpack. See "
    "`accord run --help",
}


def commands_of(rows: Rows, panel: str | None = None) -> dict[str, Later | Group]:
    """Return the commands of rows, to be shown in a panel of the help."""
    commands: dict[str, Later | Group] = {}
    for name, row in rows.items():
        if isinstance(row, str):
            commands[name] = Later(name, row, panel)
        else:
            inside, line = row
            commands[name] = Group(
                name=name,
                help=line,
                no_args_is_help=True,
                commands=commands_of(inside),
                rich_help_panel=panel,
            )
    return commands


COMMANDS = {
    name: command
    for panel, rows in PANELS.items()
    for name, command in commands_of(rows, panel).items()
}


class Accord(Group):
    """All commands of the table, and those that other packages offer as entry points.

    An entry point of the group `accord.commands` names a mapping of panels, as PANELS is. It is
    imported for the help, and for a command that the table lacks.
    """

    def __init__(self, **settings):
        super().__init__(**settings | {"commands": COMMANDS})

    def list_commands(self, ctx):
        return [*super().list_commands(ctx), *_from_outside()]

    def get_command(self, ctx, name):
        return super().get_command(ctx, name) or _from_outside().get(name)


@cache
def _from_outside() -> dict[str, Later | Group]:
    """Return the commands of other packages by name."""
    from importlib.metadata import entry_points  # here, as Accord's commands need none

    commands: dict[str, Later | Group] = {}
    for point in entry_points(group="accord.commands"):
        try:
            panels = point.load().items()
        except Exception as error:  # a stranger's code may fail in any way
            say(f"the commands of {point.value} are left out: {type(error).__name__}: {error}")
        else:
            for panel, rows in panels:
                commands |= commands_of(rows, panel)
    return commands


app = typer.Typer(
    cls=Accord,
    help="Train language models that know French morphology, compare them, and question them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(is_wanted: bool) -> None:
    if is_wanted:
        echo(f"accord {sys.modules['accord'].__version__}")
        raise typer.Exit


@app.callback()
def main(
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only results and errors.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print details, and the traceback of an error.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_say_version, is_eager=True
        ),
    ] = False,
) -> None:
    console.tracebacks = verbose
    set_level("quiet" if quiet else "verbose" if verbose else "normal")


def program() -> None:
    """Run `accord` as a process of its own.

    An import of torch makes a quarter of a million objects, and all of them stay. Garbage
    collection among them would cost every command half a second.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal may lack φ, − or é
            stream.reconfigure(errors="backslashreplace")
    gc.set_threshold(300_000)
    atexit.register(gc.freeze)
    app()


if __name__ == "__main__":
    program()
