"""What all commands share: help, errors in a line, exit codes."""

import os
import sys
from collections.abc import Callable
from copy import copy
from functools import wraps
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from accord.pipeline.base.messages import INSTALL, echo, printable

Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="[MODEL.]SECTION.KEY=VALUE",
        help="Change one key of the configuration, of all models or of one. Can be repeated.",
    ),
]


def _model_names(options: list[str] | None) -> list[str]:
    """The names of a repeated option; an option without names is an error."""
    names = [name for each in options or () for name in listed(each)]
    if options and not names:
        _tell(ValueError(f"--models: expected names of models, got {', '.join(options)!r}"))
    return names


Models = Annotated[
    list[str] | None,
    typer.Option(
        "--models",
        metavar="MODEL,…",
        help="Take only these models of the configuration. Can be repeated.",
        callback=_model_names,
    ),
]
Name = Annotated[
    str | None,
    typer.Option(
        "--name",
        help="Name of the run's folder, if not the configuration's own.",
    ),
]
Seeds = Annotated[int, typer.Option("--seeds", help="Number of seeds to train each model with.")]
Runs = Annotated[Path, typer.Option("--runs", help="Folder that holds all runs.")]

FAILED, USAGE, INTERRUPTED = 1, 2, 130  # exit codes
tracebacks = False  # set by --verbose


def _readable(source: str) -> str:
    """The name of a configuration, checked before anything heavy is imported."""
    from accord.pipeline.config.presets import layered  # here, as most commands read no YAML

    try:
        layered(source)
    except (ValueError, OSError) as error:
        _tell(error)
    return source


Configuration = Annotated[
    str,
    typer.Argument(
        metavar="CONFIG",
        help="Name of a preset, or path of a YAML file of your own.",
        callback=_readable,
    ),
]


VALUES = {"str": "TEXT", "path": "PATH"} | dict.fromkeys(("int", "int range", "float"), "NUMBER")


class _PlainHelp:
    """Show the values of options in plain words; flags and arguments need none."""

    def get_params(self, ctx):
        params = super().get_params(ctx)
        for param in params:
            # typer 0.29 calls it display_type; earlier versions ask the type of the parameter.
            shown = getattr(param, "display_type", None)
            if param.param_type_name == "argument" and shown:
                param.display_type_rich = lambda ctx: None
            elif param.param_type_name == "argument":
                param.type = copy(param.type)  # as parameters share their types
                param.type.get_metavar = lambda param, ctx: ""
                if param.nargs != 1 and "get_usage_pieces" not in vars(param):
                    usage = param.get_usage_pieces
                    param.get_usage_pieces = lambda ctx, usage=usage: [f"{usage(ctx)[0]}..."]
            elif param.is_flag:
                param.metavar = ""
            elif param.metavar is None:
                kind = (shown or param.make_metavar)(ctx).strip("<>")
                param.metavar = VALUES.get(kind, kind)
        return params


class Command(_PlainHelp, TyperCommand):
    """A command of `accord`."""


class Group(_PlainHelp, TyperGroup):
    """A group of such commands."""


class Later(Command):
    """A command that is imported when it is called; until then, its name and its line of help."""

    def __init__(self, name: str, place: str, line: str, panel: str | None = None):
        super().__init__(name, help=line, rich_help_panel=panel)
        self.place = place  # module:function

    def loaded(self) -> Command:
        alone = typer.Typer(add_completion=False)
        alone.command(cls=Command)(resolve_name(self.place))
        return get_command(alone)

    def make_context(self, *args, **kwargs) -> typer.Context:
        """The context of the command itself, which click then runs or asks for help."""
        try:
            return self.loaded().make_context(*args, **kwargs)
        except ModuleNotFoundError as error:
            _tell_missing(error)


def command(function: Callable) -> Callable:
    """A command whose errors are a line or two, with a traceback only if asked for."""

    @wraps(function)
    def guarded(*args, **kwargs):
        try:
            function(*args, **kwargs)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except KeyboardInterrupt:
            said = "\ninterrupted: finished work is kept, and the same command resumes"
            echo(said, error=True)
            raise typer.Exit(INTERRUPTED) from None
        except (ValueError, OSError, LookupError, FloatingPointError) as error:
            _tell(error)
        except ModuleNotFoundError as error:
            _tell_missing(error)

    return guarded


# Packages of the extra `train`, which the bundled model is asked without.
EXTRA = {
    *("datasets", "huggingface_hub", "matplotlib", "pyarrow", "spacy"),
    *("srsly", "tokenizers", "torch", "unimorph"),
}


def _tell_missing(error: ModuleNotFoundError) -> NoReturn:
    """End the command with the line that installs what it needs."""
    package = (error.name or "").partition(".")[0]
    if package not in EXTRA or tracebacks:
        raise error
    print_error(f"this command needs {package}, which is not installed: `{INSTALL}` brings it")
    raise typer.Exit(FAILED) from None


def _tell(error: Exception) -> NoReturn:
    """End the command with an error of a line or two."""
    if tracebacks:
        raise error
    print_error(_message(error))
    raise typer.Exit(USAGE if isinstance(error, ValueError) else FAILED) from None


def print_error(message: str) -> None:
    """Print an error to standard error; on a terminal it begins in colour."""
    if not sys.stderr.isatty():
        echo(f"error: {message}", error=True)
        return
    from rich.console import Console
    from rich.text import Text

    said = Text.assemble(("error: ", "bold red"), printable(message))
    Console(stderr=True).print(said, soft_wrap=True)  # a path stays in one piece


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        where = f": {error.filename}" if error.filename else ""
        return f"{error.strerror}{where}"
    return str(error)


def is_path(text: str) -> bool:
    """Whether a text is also the path of a file or folder."""
    try:
        return Path(text).exists()
    except OSError:  # a sentence may be longer than any name
        return False


def make_room(*files: Path | None) -> None:
    """Make the folders of output files before anything is computed."""
    for file in filter(None, files):
        file.parent.mkdir(parents=True, exist_ok=True)


def listed(text: str) -> list[str]:
    """The parts of a text between commas, without spaces around them."""
    return [part.strip() for part in text.split(",") if part.strip()]
