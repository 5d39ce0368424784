"""Tables as text: Markdown whose columns line up, and HTML."""

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the command line prints tables, and would start later with it
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
