"""Tables on a terminal, in Markdown, on HTML pages and as files; seeds as mean ± spread."""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from html import escape
from importlib.resources import files
from pathlib import Path
from statistics import fmean, stdev
from string import Template
from typing import TYPE_CHECKING, Any

from accord.errors import AccordError
from accord.models.common.files import whole
from accord.pipeline.base.messages import echo, printable

if TYPE_CHECKING:
    import pandas as pd

NUMBER = re.compile(r"[-+−±]?\d")  # perhaps with a unit, a spread or a share after it
NO_TEXT = re.compile(r"[-+−±]?\d|$|[-–—]$|nan$|None$|inf$|<NA>$")


def markdown(table: "pd.DataFrame") -> str:
    """Return a Markdown table whose columns line up: text on the left, numbers right."""
    cells, rights = _cells(table), _numbers(table)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, rights, strict=True)
        ]
        for row in cells
    ]
    rule = ["-" * (w - 1) + ":" if r else "-" * w for w, r in zip(widths, rights, strict=True)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], rule, *lines[1:]])


def print_table(table: "pd.DataFrame") -> None:
    """Print a table: drawn by rich on a terminal, in Markdown for a file or another program."""
    if not sys.stdout.isatty():
        echo(markdown(table))
        return
    _draw(_cells(table), _numbers(table))


def print_markdown(text: str) -> None:
    """Print a table that `markdown` wrote, in the same way."""
    if not sys.stdout.isatty():
        echo(text, end="" if text.endswith("\n") else "\n")
        return
    head, rule, *rows = (
        [cell.strip() for cell in line.removeprefix("| ").removesuffix(" |").split(" | ")]
        for line in text.splitlines()
    )
    _draw([head, *rows], [dashes.endswith(":") for dashes in rule])


def _draw(cells: Sequence[Sequence[str]], rights: Sequence[bool]) -> None:
    """Draw a table on the terminal: its head and its rows, with some columns on the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    head, *rows = cells
    for name, right in zip(head, rights, strict=True):
        drawn.add_column(
            Text(printable(name)), justify="right" if right else "left", overflow="fold"
        )
    for row in rows:
        # As Text, brackets in a cell are no markup.
        drawn.add_row(*(Text(printable(cell)) for cell in row))
    Console().print(drawn)


def _cells(table: "pd.DataFrame") -> list[list[str]]:
    return [[str(name) for name in table.columns], *table.astype(str).values.tolist()]


def _numbers(table: "pd.DataFrame") -> list[bool]:
    """Return which columns have numbers, aligned right; the first one names the row."""
    columns = zip(*_cells(table)[1:], strict=True) if len(table) else [()] * len(table.columns)
    return [
        place > 0 and any(map(NUMBER.match, column)) and all(map(NO_TEXT.match, column))
        for place, column in enumerate(columns)
    ]


def html_table(table: "pd.DataFrame") -> str:
    """Return a table that scrolls by itself on a narrow screen."""
    head = "".join(f"<th>{escape(str(name))}</th>" for name in table.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>"
        for row in table.itertuples(index=False)
    )
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def html_page(title: str, body: str) -> str:
    """Return a whole page, for light and dark, wide and narrow screens and paper."""
    template = Template((files("accord.pipeline.base") / "page.html").read_text(encoding="utf-8"))
    return template.substitute(title=escape(title), body=body)


FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # a cell that begins so is computed by spreadsheets
PARQUET, EXCEL = ".parquet", ".xlsx"
LOGICAL = {True: "TRUE", False: "FALSE"}
TABLES = (".csv", ".tsv", PARQUET, EXCEL)  # endings of files that `write_table` writes
EXCEL_ROWS = 1_048_576  # that a sheet of Excel holds, the header included


def write_table(table: "pd.DataFrame", path: Path, spreadsheet: bool = False) -> None:
    """Write a table, whole or not at all, in the format of the name's ending.

    For a `spreadsheet`, texts of a CSV or TSV that it would compute have an apostrophe before them.
    """
    with table_writer(path, spreadsheet) as write:
        write(table)


@contextmanager
def table_writer(
    path: Path, spreadsheet: bool = False
) -> "Iterator[Callable[[pd.DataFrame], None]]":
    """Yield a function that writes the next rows; the file appears once all are written.

    A CSV, TSV or Parquet is written piece by piece. A sheet of Excel is kept until its end.
    """
    with whole(path) as partial:
        if path.suffix == PARQUET:
            yield from _parquet_writer(partial)
        elif path.suffix == EXCEL:
            yield from _excel_writer(partial)
        else:
            separator = "\t" if path.suffix == ".tsv" else ","
            with partial.open("w", encoding="utf-8", newline="") as file:

                def write(table: "pd.DataFrame") -> None:
                    file.write(csv(table, separator, spreadsheet, header=not file.tell()))

                yield write


def _parquet_writer(path: Path) -> "Iterator[Callable[[pd.DataFrame], None]]":
    import pyarrow as pa
    from pyarrow import parquet

    with ExitStack() as stack:
        opened: list[parquet.ParquetWriter] = []

        def write(table: "pd.DataFrame") -> None:
            rows = pa.Table.from_pandas(table, preserve_index=False)
            if not opened:
                opened.append(stack.enter_context(parquet.ParquetWriter(path, rows.schema)))
            opened[0].write_table(rows.cast(opened[0].schema))

        yield write


def _excel_writer(path: Path) -> "Iterator[Callable[[pd.DataFrame], None]]":
    import pandas as pd

    pieces: list[pd.DataFrame] = []
    yield pieces.append
    table = pd.concat(pieces, ignore_index=True)
    if len(table) >= EXCEL_ROWS:
        raise AccordError(
            f"{EXCEL}: expected fewer than {EXCEL_ROWS:,} rows, got {len(table):,}; .csv takes all"
        )
    try:
        table.to_excel(path, index=False)
    except ImportError:
        raise AccordError(
            f"{EXCEL}: `pip install 'accord-lm[excel]'` brings what writes it"
        ) from None


def rounded(table: "pd.DataFrame", columns: Iterable[str]) -> "pd.DataFrame":
    """Round the numbers of these columns to six digits; a user's own stay as they are."""
    floats = [name for name in columns if name in table and table[name].dtype.kind == "f"]
    return table.assign(**{name: table[name].map("{:.6g}".format).astype(float) for name in floats})


def csv(
    table: "pd.DataFrame", separator: str = ",", spreadsheet: bool = False, header: bool = True
) -> str:
    """Return a table as CSV, with TRUE and FALSE as R reads them."""
    if spreadsheet:
        table = table.map(_inert).rename(columns=_inert)
    logical = table.select_dtypes(bool).columns
    table = table.assign(**{str(name): table[name].map(LOGICAL) for name in logical})
    return table.to_csv(index=False, sep=separator, header=header)


def _inert(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULAS) else cell


def with_seeds(models: Mapping[str, Mapping[str, Any]], seeds: int) -> dict[str, dict[str, Any]]:
    """Give each trained model this many seeds. A counted model has one."""
    if seeds < 1:
        raise AccordError(f"seeds: expected 1 or more, got {seeds}")
    seeded = {}
    for model, sections in models.items():
        if without_seed(model) != model:
            raise AccordError(
                f"models: '{model}' is called like a seed of '{without_seed(model)}', and figures "
                f"of seeds are averaged; expected another name"
            )
        train = sections["train"]
        for copy in range(1, seeds + 1 if train.output != "background" else 2):
            reseeded = replace(train, seed=train.seed + copy - 1)
            name = model if copy == 1 else f"{model}-seed{copy}"
            seeded[name] = {**sections, "train": reseeded}
    return seeded


def without_seed(model: str) -> str:
    """Return the name that all seeds of a model share."""
    return re.sub(r"-seed\d+$", "", model)


def by_seed(models: Iterable[str]) -> dict[str, list[str]]:
    """Group the seeds of each model, in order."""
    seeds: dict[str, list[str]] = {}
    for model in models:
        seeds.setdefault(without_seed(model), []).append(model)
    return seeds


def mean_and_spread(values: Sequence[float], digits: int) -> str:
    """Return the mean, and ± the standard deviation where they differ; a dash for nothing."""
    if not len(values):
        return "–"
    spread = f" ± {stdev(values):,.{digits}f}" if len(set(values)) > 1 else ""
    return f"{fmean(values):,.{digits}f}{spread}"
