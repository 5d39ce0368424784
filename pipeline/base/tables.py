"""Tables printed, on pages and as files; users' own tables; seeds as mean ± spread."""

import re
import sys
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from html import escape
from importlib.resources import files
from pathlib import Path
from statistics import fmean, stdev
from string import Template
from typing import TYPE_CHECKING, Any

from accord.corpora.text import CorpusError, kind, lines, table_rows
from accord.errors import AccordError
from accord.models.common.files import whole
from accord.pipeline.base.messages import counted, echo, printable, say

if TYPE_CHECKING:
    import pandas as pd

    Write = Callable[[pd.DataFrame], Any]

NUMBER = re.compile(r"[-+−±]?\d")  # perhaps with a unit, a spread or a share after it
NO_TEXT = re.compile(r"[-+−±]?\d|$|[-–—]$|nan$|None$|inf$|<NA>$")


def markdown(table: "pd.DataFrame") -> str:
    """Return a Markdown table whose columns line up: text on the left, numbers right."""
    cells, rights = _cells(table), _numbers(table)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    styles = [f"{'>' if right else '<'}{w}" for w, right in zip(widths, rights, strict=True)]
    head, *rows = ([*map(format, row, styles)] for row in cells)
    rule = ["-" * (w - 1) + ":" if r else "-" * w for w, r in zip(widths, rights, strict=True)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *rows])


def print_table(table: "pd.DataFrame") -> None:
    """Print a table: drawn by rich on a terminal, in Markdown for a file or another program."""
    if not sys.stdout.isatty():
        echo(markdown(table))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    head, *rows = _cells(table)
    for name, is_right in zip(head, _numbers(table), strict=True):
        side = "right" if is_right else "left"
        drawn.add_column(Text(printable(name)), justify=side, overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(printable(cell)) for cell in row))  # brackets are no markup
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
    """Return a table; on a narrow screen a row is a list of its cells with their names."""
    names = [escape(str(name)) for name in table.columns]
    head = "".join(f"<th>{name}</th>" for name in names)
    body = ""
    for row in table.itertuples(index=False):
        cells = zip(names, map(escape, map(str, row)), strict=True)
        texts = (f'<td data-name="{name}">{cell}</td>' for name, cell in cells)
        body += f"<tr>{''.join(texts)}</tr>"
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
BRING_EXCEL = "`pip install 'accord-lm[excel]'` brings what"
EXCEL_ROWS = 1_048_576  # that a sheet of Excel holds, the header included


def write_table(table: "pd.DataFrame", path: Path, spreadsheet: bool = False) -> None:
    """Write a table, whole or not at all, in the format of the name's ending.

    For a `spreadsheet`, texts of a CSV or TSV that it would compute have an apostrophe before them.
    """
    with table_writer(path, spreadsheet) as write:
        write(table)


@contextmanager
def table_writer(path: Path, spreadsheet: bool = False) -> "Iterator[Write]":
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
                yield lambda table: file.write(
                    csv(table, separator, spreadsheet, header=not file.tell())
                )


def _parquet_writer(path: Path) -> "Iterator[Write]":
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


def _excel_writer(path: Path) -> "Iterator[Write]":
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
        raise AccordError(f"{EXCEL}: {BRING_EXCEL} writes it") from None


# Users' own tables: a text is a table of its lines.

NO_TEXTS = (".json", ".jsonl", ".xls", ".ods")  # tables too, which would read as lines
AS_UTF8 = "save it as UTF-8 (in Excel: CSV UTF-8)"
SEPARATORS = "\t;,"
# Encodings of older programs: on Windows a superset of Latin-1, on a Mac Mac Roman.
WINDOWS, MAC = "cp1252", "mac_roman"
OLD_ENCODINGS = {WINDOWS: "Windows-1252 (Latin-1)", MAC: "Mac Roman"}
FRENCH_SIGNS = frozenset("àâçèéêëîïôùûœÀÇÉ’«»…–—")


def read_table(path: Path, column: str) -> "pd.DataFrame":
    """Read the table of a file, its columns as they are written."""
    if kind(path) in NO_TEXTS:
        raise AccordError(f"{path}: expected a text, or a name that ends in {', '.join(TABLES)}")
    if kind(path) in (PARQUET, EXCEL):
        return _read_binary(path)
    import pandas as pd

    encoding = _encoding(path)
    if "\r" in next(lines(path, encoding), "").rstrip("\r\n"):  # all would be one line
        raise AccordError(
            f"{path}: expected lines that end in a line feed, found carriage returns alone; "
            f"{AS_UTF8}"
        )
    if kind(path) not in TABLES:
        text = (line.removeprefix("\ufeff").strip() for line in lines(path, encoding))
        numbered = [(number, line) for number, line in enumerate(text, start=1) if line]
        return pd.DataFrame(numbered, columns=["line", column])
    rows = list(table_rows(path, SEPARATORS, encoding))
    if faults := [f"{path}, line {line}: {row}" for line, row in rows if isinstance(row, str)]:
        raise AccordError("\n".join(faults))
    if not rows:
        raise AccordError(f"{path}: expected a table with a header and rows, found none")
    if empty := _empty_lines(rows):
        say(
            f"{path}: {counted(len(empty), 'empty line')} left out, and rows are counted without: "
            f"line {', '.join(map(str, empty)):.200}"
        )
    return pd.DataFrame([row for _, row in rows])


def _empty_lines(rows: Sequence[tuple[int, dict[str, str]]]) -> list[int]:
    """Return the empty lines between rows; a row may take several lines."""
    empty, last = [], rows[0][0]
    for line, row in rows[1:]:
        first = line - sum(cell.count("\n") for cell in row.values())
        empty += range(last + 1, first)
        last = line
    return empty


def _encoding(path: Path) -> str:
    """Return UTF-8, or the older encoding in which a file has the most French signs.

    Every byte is a character in Mac Roman, so a file without such signs is not read as that.
    """
    with path.open("rb") as file:
        start = file.read(2)
    if start in (BOM_UTF16_LE, BOM_UTF16_BE):
        raise AccordError(f"{path}: expected UTF-8, found UTF-16; {AS_UTF8}")
    try:
        for _ in lines(path):
            pass
    except CorpusError as fault:
        signs = {encoding: _french_signs(path, encoding) for encoding in OLD_ENCODINGS}
        encoding = max(signs, key=signs.__getitem__)  # Windows-1252 if both have as many
        if encoding == MAC and not signs[MAC]:
            raise fault from None
        say(f"{path} is not UTF-8: it is read as {OLD_ENCODINGS[encoding]}")
        return encoding
    return "utf-8"


def _french_signs(path: Path, encoding: str) -> int:
    """Count the French signs of a file in an encoding; −1 if it cannot be decoded."""
    try:
        return sum(sign in FRENCH_SIGNS for line in lines(path, encoding) for sign in line)
    except CorpusError:
        return -1


def _read_binary(path: Path) -> "pd.DataFrame":
    """Read a table in Parquet, or the first sheet of a workbook."""
    import pandas as pd

    from accord.lexicon.index import parquet

    is_excel = kind(path) == EXCEL
    try:
        if is_excel:
            return pd.read_excel(path)
        table = parquet.read_table(path)
        table.validate(full=True)
        return table.to_pandas()
    except ImportError:
        raise AccordError(f"{path}: {BRING_EXCEL} reads it") from None
    except Exception as error:  # which is anything if the file is damaged
        if isinstance(error, OSError) and error.errno is not None:  # the disk, not the content
            raise
        expected = "a workbook of Excel" if is_excel else "a table in Parquet"
        raise AccordError(f"{path}: expected {expected}; {error}") from None


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
        for copy in range(1 if train.output == "background" else seeds):
            name = f"{model}-seed{copy + 1}" if copy else model
            seeded[name] = {**sections, "train": replace(train, seed=train.seed + copy)}
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
