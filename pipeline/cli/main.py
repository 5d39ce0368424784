"""The command line `accord`: a table of commands, whose modules are imported when they are called.

A command is the function of its name. Its line here is the first of the function's docstring, so
that `accord --help` imports no command; a test compares the two.
"""

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

# Name → the module and the line of help; of a group, its rows and its line.
Rows = Mapping[str, "tuple[str | Rows, str]"]

SUITE: Rows = {
    "make": (
        "accord.pipeline.cli.agree",
        "Make minimal pairs: a real sentence, and the same with a word that no longer agrees.",
    ),
}
LEXICON: Rows = {
    "list": (
        "accord.pipeline.cli.lexicon:list_lexicons",
        "List all lexicons with their size and licence, and whether their data is here.",
    ),
    "show": (
        "accord.pipeline.cli.lexicon",
        "Show the analyses of a word by every lexicon with data, and its φ by --lexicon.",
    ),
    "coverage": (
        "accord.pipeline.cli.lexicon",
        "Show how much of a corpus lexicons cover, and how well guessers analyse the rest.",
    ),
    "diff": (
        "accord.pipeline.cli.lexicon",
        "List words that two chains of lexicons analyse differently, and what that costs in bits.",
    ),
    "compare": (
        "accord.pipeline.cli.lexicon",
        "Train the last model of a configuration with each chain of lexicons, and compare them.",
    ),
}
# Every command by the panel of `accord --help` that shows it, in the order in which people meet
# them.
PANELS: dict[str, Rows] = {
    "Ask a model": {
        "score": (
            "accord.pipeline.cli.score",
            "Score a text: log p of each word and sentence, perplexity, bits per character.",
        ),
        "explain": (
            "accord.pipeline.cli.model",
            "List the likeliest next words and say why they are likely, feature by feature.",
        ),
        "generate": (
            "accord.pipeline.cli.model",
            "Generate sentences, by sampling or by beam search.",
        ),
        "correct": (
            "accord.pipeline.cli.confusions",
            "Suggest words that agree better, or that sound the same and fit better, and say why.",
        ),
        "vectors": (
            "accord.pipeline.cli.model",
            "Compare words by their vectors: neighbours, analogies, the odd one out, inflection.",
        ),
        "page": (
            "accord.pipeline.cli.page",
            "Serve a local web page to type, explain, change and compare sentences.",
        ),
    },
    "Stimuli": {
        "surprisal": (
            "accord.pipeline.cli.surprisal",
            "Turn a table of sentences into a table of words with their surprisal in bits.",
        ),
        "norms": (
            "accord.pipeline.cli.surprisal",
            "Hold models against people: what surprisal explains beyond length and frequency.",
        ),
        "expect": (
            "accord.pipeline.cli.surprisal",
            "Show the probability of each gender, number or part of speech before every word.",
        ),
        "agree": (
            "accord.pipeline.cli.agree",
            "Score minimal pairs: how often a model finds the right sentence likelier.",
        ),
        "suite": (SUITE, "Make minimal pairs from your own sentences."),
    },
    "Train": {
        "run": (
            "accord.pipeline.cli.run",
            "Train the models of a configuration: run each stage that is not done, print results.",
        ),
        "config": (
            "accord.pipeline.cli.run",
            "Explain every key of a configuration, or print a preset to copy.",
        ),
        "fetch": (
            "accord.pipeline.cli.run",
            "Download corpora and lexicons into the data folder and check their hashes.",
        ),
        "export": (
            "accord.pipeline.cli.results",
            "Export a model with its card: a folder for `load`, n-grams, an automaton, or vectors.",
        ),
    },
    "Compare": {
        "lexicon": (LEXICON, "Look words up in lexicons; measure, compare and swap lexicons."),
        "compare": (
            "accord.pipeline.cli.results",
            "Compare the models of several runs in one table; train those that are not trained.",
        ),
        "combine": (
            "accord.pipeline.cli.results",
            "Combine models with weights tuned on validation; show the perplexity without each.",
        ),
        "audit": (
            "accord.pipeline.cli.results",
            "Check a run for leaks: which splits its vocabulary, φ and b have seen.",
        ),
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
    for name, (place, line) in rows.items():
        if isinstance(place, str):
            module, _, function = place.partition(":")
            place = f"{module}:{function or name}"
            commands[name] = Later(name, place, line, panel)
        else:
            commands[name] = Group(
                name=name,
                help=line,
                no_args_is_help=True,
                commands=commands_of(place),
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

    def get_params(self, ctx):
        """Leave the completion of shells out of the help, which is then one screen."""
        params = super().get_params(ctx)
        for param in params:
            param.hidden = getattr(param, "hidden", False) or "completion" in (param.name or "")
        return params

    def list_commands(self, ctx):
        return [*super().list_commands(ctx), *_from_outside()]

    def get_command(self, ctx, name):
        return super().get_command(ctx, name) or _from_outside().get(name)


@cache
def _from_outside() -> dict[str, Later | Group]:
    """Return the commands of other packages, by name."""
    from importlib.metadata import entry_points  # here, as Accord's own commands need none

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
        bool,
        typer.Option("--verbose", "-v", help="Print details, and the traceback of an error."),
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
