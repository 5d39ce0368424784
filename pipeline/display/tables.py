"""Markdown and HTML tables; seeds as mean ± spread."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def markdown(table: "pd.DataFrame") -> str:
    """A Markdown table whose columns line up as plain text."""
    cells = [[str(name) for name in table.columns], *table.astype(str).values.tolist()]
    widths = [max(len(row[place]) for row in cells) for place in range(len(table.columns))]
    lines = [
        [cell.rjust(width) if place else cell.ljust(width) for place, (cell, width) in row]
        for row in (list(enumerate(zip(row, widths, strict=True))) for row in cells)
    ]
    rule = [
        ("-" * (width - 1) + ":") if place else "-" * width for place, width in enumerate(widths)
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], rule, *lines[1:]])


def html_table(table: "pd.DataFrame") -> str:
    """A table that scrolls by itself on a narrow screen."""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in table.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in table.itertuples(index=False)
    )
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def with_seeds(models: Mapping[str, Mapping[str, Any]], seeds: int) -> dict[str, dict[str, Any]]:
    """So many seeds of each model that is trained; what is only counted stays one."""
    if seeds < 1:
        raise ValueError(f"seeds: expected 1 or more, got {seeds}")
    found = {}
    for model, sections in models.items():
        train = sections["train"]
        for copy in range(1, seeds + 1 if train.output != "background" else 2):
            reseeded = replace(train, seed=train.seed + copy - 1)
            found[seeded_name(model, copy)] = {**sections, "train": reseeded}
    return found


def seeded_name(model: str, copy: int) -> str:
    """The name of a model with its first, second… seed."""
    return model if copy == 1 else f"{model}-seed{copy}"


def without_seed(model: str) -> str:
    """The name that all seeds of a model share."""
    return re.sub(r"-seed\d+$", "", model)


def by_seed(models: Iterable[str]) -> dict[str, list[str]]:
    """The seeds of each model, in order."""
    found: dict[str, list[str]] = {}
    for model in models:
        found.setdefault(without_seed(model), []).append(model)
    return found


def mean_and_spread(values: Sequence[float], digits: int) -> str:
    """The mean, and ± the standard deviation where they differ; a dash for nothing."""
    if not len(values):
        return "–"
    spread = f" ± {stdev(values):,.{digits}f}" if len(set(values)) > 1 else ""
    return f"{fmean(values):,.{digits}f}{spread}"
