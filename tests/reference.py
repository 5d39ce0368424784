"""docs/commands.md, docs/columns.md and the systems of docs/other-systems.md, made from the code.

`python -m tests.documents --write` writes them; a test compares them.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from accord.models.common.schema import hints_of
from accord.models.common.schema import meaning as meaning_of
from accord.models.train import Epoch
from accord.pipeline.ask.surprisal import MEASURES, OF_FEATURES, OF_PARTS, REGION_MEASURES
from accord.pipeline.cli.console import Group, Later
from accord.pipeline.cli.main import PANELS, commands_of
from accord.pipeline.model.metrics import METRICS
from accord.pipeline.stages.table import STAGES
from accord.zoo import COMMANDS as ZOO
from tests.systems import PAGE, page

DOCS = Path(__file__).parent.parent / "docs"
HEADING = "| argument or option | meaning | default |"
BAR = "\\|"  # in a cell of a table
MADE = "<!-- Made by `python -m tests.documents --write`. Changes by hand are lost. -->\n"

EXPECTATIONS = {
    "model": "the model, if several are asked",
    "before": "the word that comes next; the last row is … or the sentence end",
    "start, end": "its offsets in the text",
    "FEATURE=VALUE": "P(FEATURE=VALUE) before the word is read; the values of a feature sum to one",
}
SCORES = {
    "model": "name of the model; `rnn-seed2` is the second seed of `rnn`",
    "split": "`train`, `valid`, `test`; `test/NAME` for one of several sources; or a suite",
    "metric": "one of the metrics below, or a figure of the training",
    "value": "the number",
}
PAIRS = {
    "model": "the model that judges",
    "construction, …": "the columns of the suite",
    "good, bad": "the two sentences",
    "word compared": "the word that `--score` compares",
    "whole sentence, critical word, …": "log p of the right side minus that of the wrong one, nats",
    "…, right": "1 if the margin is positive, 0 if negative, 0.5 for a tie",
}


def commands() -> str:
    """Every command with its arguments and options, under the panels of `accord --help`."""
    lines = ["# Commands", "", MADE]
    lines += ["`accord COMMAND --help` prints the same in the terminal.", ""]
    for panel, rows in PANELS.items():
        lines += [f"## {panel}", ""]
        for name, command in _commands(commands_of(rows | ZOO.get(panel, {}))):
            lines += [f"### accord {name}", "", command.help.strip(), ""]
            lines += ["```text", _usage(name, command), "```", ""]
            if parameters := [*_rows(name, command)]:
                lines += [HEADING, "| --- | --- | --- |", *parameters, ""]
    return "\n".join(lines)


def _commands(
    found: Mapping[str, Later | Group], above: str = ""
) -> Iterator[tuple[str, TyperCommand]]:
    for name, command in found.items():
        if isinstance(command, Group):
            yield from _commands(command.commands, f"{name} ")
        else:
            yield above + name, command.loaded()


def _context(name: str, command: TyperCommand) -> Any:
    return command.make_context(f"accord {name}", [], resilient_parsing=True)


def _usage(name: str, command: TyperCommand) -> str:
    with _context(name, command) as context:
        return " ".join(command.get_usage(context).removeprefix("Usage:").split())


def _rows(name: str, command: TyperCommand) -> Iterator[str]:
    with _context(name, command) as context:
        for param in command.get_params(context):
            if param.name != "help":
                cells = (f"`{_shown(param)}`", getattr(param, "help", None) or "", _default(param))
                yield f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |"


def _shown(param: Any) -> str:
    value = param.metavar or param.name.upper()
    if param.param_type_name == "argument":
        return value
    return ", ".join(param.opts) + ("" if param.is_flag else f" {value}")


def _default(param: Any) -> str:
    if param.default in (None, False, ()) or callable(param.default):
        return ""
    return f"`{param.default}`"


def columns() -> str:
    """Every column of the tables that commands write, and every file of a run."""
    metrics = {name: part.meaning for name, part in METRICS.parts().items()}
    lines = ["# Columns", "", MADE]
    lines += _table(
        "`accord surprisal`: one row per word", "column", MEASURES | OF_PARTS | OF_FEATURES
    )
    lines += [
        "The columns of your own table come first, after `row`, the number of the row in your "
        "file. With `--models` a column `model` is added, with `--expect` a column per value of a "
        "feature, with `--split` the columns `bits_…`, which add up to the surprisal.",
        "",
    ]
    per_region = "`accord surprisal --per region`: one row per region"
    lines += _table(per_region, "column", REGION_MEASURES | OF_PARTS | OF_FEATURES)
    lines += _table("`accord expect`: one row per position", "column", EXPECTATIONS)
    lines += _table("`accord agree --items`: one row per pair", "column", PAIRS)
    lines += _table("`report/scores.csv`: one row per figure", "column", SCORES)
    lines += _table("Metrics", "metric", metrics)
    lines += _table(
        "`curve.csv`: one row per epoch",
        "column",
        {name: meaning_of(hint) for name, hint in hints_of(Epoch).items()},
    )
    lines += ["## Files of a run", ""]
    for stage in STAGES.values():
        files = {f"`{file}`": meaning for file, meaning in stage.outputs.items()}
        lines += _table(f"Stage `{stage.name}`", "file", files, level=3)
    return "\n".join(lines)


def _table(title: str, first: str, meanings: Mapping[str, str], level: int = 2) -> list[str]:
    rows = [
        f"| {name if '`' in name or '…' in name else f'`{name}`'} | {meaning} |"
        for name, meaning in meanings.items()
    ]
    return [f"{'#' * level} {title}", "", f"| {first} | meaning |", "| --- | --- |", *rows, ""]


REFERENCE: dict[Path, Callable[[], str]] = {
    DOCS / "commands.md": commands,
    DOCS / "columns.md": columns,
    PAGE: page,
}
