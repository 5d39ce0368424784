"""Help, errors and exit codes of all commands."""

import ast
import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping
from copy import copy
from functools import cache, wraps
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from traceback import format_exception_only
from typing import Annotated, NoReturn, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from accord.errors import FULL, AccordError
from accord.pipeline.base.messages import INSTALL, echo, printable

FAILED, USAGE, INTERRUPTED = 1, 2, 130  # exit codes
UsageError: type[Exception] = typer.BadParameter.__bases__[0]  # that of click, typer's or not
tracebacks = False  # set by --verbose


# Help of options that several commands have, by name; a command's own docstring outweighs it.
SHARED = """
    backward (RUN/MODEL): Model that was trained on sentences backwards (train.text: backward),
        which has half of the say.
    condition (NAME=LABEL): Label of all sentences, such as source=orangesum, for a model that was
        trained with labels; by default none. Can be repeated.
    config (CONFIG): Name of a preset, or path of a YAML file of your own.
    context: What a word is conditioned on: `text`, all words before it in its text, or `none`,
        those of its own sentence. By default `text` for a model that was trained on documents, else
        `none`.
    drop_spelled: Leave out what the character model spelled: words, and regions or items with any.
    lexicon: Lexicons in order of precedence, separated by commas: names, paths of tables,
        treebank:FILE (CoNLL-U), spacy:TEXT or spacy:MODEL:TEXT (a text that spaCy tags).
    limit: Number of sentences to use; by default all.
    model (NAME): Model of the run to query; by default its last one.
    models: Several models beside each other, separated by commas: names of models of the run,
        RUN/MODEL, folders of exported models, or `french`, the bundled model.
    plot: Draw a figure: .png or .svg.
    prime (FILE): List of words, or a text, whose words become likelier.
    prime_tune (FILE): Text to tune the weight of --prime on, one sentence per line; by default the
        validation text of the run, with --condition its sentences of that label.
    prime_weight (NATS): How much likelier the words of --prime become; by default this is tuned.
    run (FOLDER|ID): Folder of a run or of an exported model, or hf:OWNER/NAME on the Hugging Face
        hub; by default the bundled model.
    runs: Folder that holds all runs.
    seeds: Number of seeds to train each model with.
    set ([MODEL.]SECTION.KEY=VALUE): Change one key of the configuration, of all models or of one.
        Can be repeated.
    split: Part of the corpus to use, such as test; by default all of it.
    spreadsheet: Put an apostrophe before cells that begin with = + - or @, which a spreadsheet
        would compute.
    text (TEXT): A sentence or its beginning, such as 'les chiens du voisin …'. A … (or ...) behind
        a blank at its end stands for the next word; it may be left out.
    to: Write the table: .csv, .tsv, .parquet or .xlsx.
"""
ARGS = "\n\nArgs:\n"
ENTRY = re.compile(r"^    (\w+)(?: \((.+?)\))?: (.+(?:\n     .+)*)", re.MULTILINE)
AtLeast0, AtLeast1 = typer.Option(min=0), typer.Option(min=1)


def _readable(source: str) -> str:
    """Check the name of a configuration before anything heavy is imported."""
    from accord.pipeline.config.configuration import layered  # here, as most commands read no YAML

    try:
        layered(source)
    except Exception as error:
        _end(error)
    return source


Configuration = Annotated[str, typer.Argument(callback=_readable)]


VALUES = {"str": "TEXT", "path": "PATH"} | dict.fromkeys(("int", "int range", "float"), "NUMBER")


class _PlainHelp:
    """Help that shows the values of options in plain words; flags and arguments need none."""

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

    moved: Mapping[str, str] = {}  # an earlier name, with its group → the command of today

    def resolve_command(self, ctx, args):
        """Find a command by its name; one of an earlier version ends with its new name."""
        path = " ".join([*([ctx.info_name] if ctx.parent else []), args[0]])
        if path in self.moved and self.get_command(ctx, args[0]) is None:
            _end(AccordError(f"`accord {path}` is now `accord {self.moved[path]}`"))
        return super().resolve_command(ctx, args)


class Later(Command):
    """A command that is imported when it is called.

    Its line of help is read from its source, so that `accord --help` imports no command.
    """

    def __init__(self, name: str, place: str, panel: str | None = None):
        super().__init__(name, rich_help_panel=panel)
        self.place = place  # module:function

    @property
    def help(self) -> str | None:
        module, _, function = self.place.partition(":")
        return _first_lines(module).get(function)

    @help.setter
    def help(self, text: str | None) -> None:
        """Ignore the text: click sets what its constructor got, which is none."""

    def loaded(self) -> Command:
        alone = typer.Typer(add_completion=False)
        alone.command(cls=Command)(resolve_name(self.place))
        return get_command(alone)

    def make_context(self, *args, **kwargs) -> typer.Context:
        """Return the context of the command itself, for its run or its help."""
        try:
            return self.loaded().make_context(*args, **kwargs)
        except ModuleNotFoundError as error:
            _end(error)


@cache
def _first_lines(module: str) -> dict[str, str]:
    """Return the first paragraph of each function's docstring, from the source of a module."""
    tree = ast.parse(Path(find_spec(module).origin).read_text(encoding="utf-8"))
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return {node.name: (ast.get_docstring(node) or "").split("\n\n")[0] for node in functions}


def command(function: Callable) -> Callable:
    """Return a command that ends with an exit code and a line or two where it fails.

    Its parameters are explained in its docstring, below `Args:`, as those of SHARED are: `name
    (METAVAR): help`. One without a default is an argument, unless its annotation says otherwise.
    """
    about, _, entries = inspect.cleandoc(function.__doc__ or "").partition(ARGS)
    explained = {name: (metavar, help) for name, metavar, help in ENTRY.findall(SHARED + entries)}

    @wraps(function)
    def guarded(*args, **kwargs):
        try:
            function(*args, **kwargs)
            sys.stdout.flush()
        except (typer.Exit, typer.Abort, UsageError):
            raise
        except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except KeyboardInterrupt:
            message = "\ninterrupted: finished work is kept, and the same command resumes"
            echo(message, error=True)
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            _end(error)

    guarded.__doc__ = about
    guarded.__signature__ = (of := inspect.signature(function)).replace(
        parameters=[
            _option(parameter, *explained.get(name, ("", "")))
            for name, parameter in of.parameters.items()
        ]
    )
    return guarded


def _option(parameter: inspect.Parameter, metavar: str, help: str) -> inspect.Parameter:
    """Return a parameter of a command as typer expects it, with its help."""
    kind, infos = parameter.annotation, ()
    if get_origin(kind) is Annotated:
        kind, *infos = get_args(kind)
    is_required = parameter.default is parameter.empty
    info = copy(infos[0]) if infos else typer.Argument() if is_required else typer.Option()
    info.help, info.metavar = info.help or " ".join(help.split()), info.metavar or metavar or None
    if kind is bool:  # typer would add --no-…
        info.default = f"--{parameter.name.replace('_', '-')}"
    return parameter.replace(annotation=Annotated[kind, info])


# Packages of the extra `train`, which the bundled model is asked without.
EXTRA = {
    *("datasets", "huggingface_hub", "matplotlib", "pyarrow", "spacy"),
    *("srsly", "tokenizers", "torch", "unimorph"),
}


def _end(error: Exception) -> NoReturn:
    """End the command with an error; --verbose shows its traceback."""
    if tracebacks:
        raise error
    print_error(_message(error))
    is_usage = isinstance(error, AccordError) and not isinstance(error, OSError | ArithmeticError)
    raise typer.Exit(USAGE if is_usage else FAILED) from None


def _message(error: Exception) -> str:
    """Return what the user can do about an error; one of Accord's own shows its last line."""
    if isinstance(error, AccordError):
        return str(error)
    if isinstance(error, OSError) and error.errno is not None and error.filename:
        return f"{error.strerror}: {error.filename}"
    if isinstance(error, OSError) and error.errno in FULL:
        return str(error.strerror)
    package = (getattr(error, "name", None) or "").partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and package in EXTRA:
        return f"this command needs {package}, which is not installed: `{INSTALL}` brings it"
    last = "".join(format_exception_only(error)).strip()
    return f"{last}\nThis is a fault of Accord: `accord --verbose …` shows where it happened"


def print_error(message: str) -> None:
    """Print an error to standard error; on a terminal it begins in colour."""
    if not sys.stderr.isatty():
        echo(f"error: {message}", error=True)
        return
    from rich.console import Console
    from rich.text import Text

    line = Text.assemble(("error: ", "bold red"), printable(message))
    Console(stderr=True).print(line, soft_wrap=True)  # a path stays in one piece


def is_path(text: str) -> bool:
    """Return whether a text is also the path of a file or folder."""
    try:
        return Path(text).exists()
    except OSError:  # a sentence may be longer than any name
        return False


def make_room(*files: Path | None) -> None:
    """Make the folders of output files before anything is computed."""
    for file in filter(None, files):
        file.parent.mkdir(parents=True, exist_ok=True)


def model_names(options: list[str] | None) -> list[str]:
    """Return the names of a repeated --models; an option without names is an error."""
    names = [name for option in options or () for name in listed(option)]
    if options and not names:
        raise AccordError(f"--models: expected names of models, got {', '.join(options)!r}")
    return names


def listed(text: str) -> list[str]:
    """Split a text at commas, without the spaces around its parts."""
    return [part.strip() for part in text.split(",") if part.strip()]
