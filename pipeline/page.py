"""The report as one HTML page that needs nothing beside it: tables, figures inline, no scripts."""

from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

import pandas as pd
from matplotlib.figure import Figure

from pipeline.figures import svg

CAPTIONS = {
    "perplexity": "Perplexity on the test sentences.",
    "curves": "Loss by epoch; a ring marks the epoch whose weights were kept.",
}


def render(
    title: str,
    about: str,
    table: pd.DataFrame,
    coverage: pd.DataFrame,
    out: Path,
    drawn: dict[str, Figure],
    explained: str = "",
) -> str:
    """The page's text."""
    figures = "\n".join(
        f"<figure>{_inline(drawn[name], caption)}<figcaption>{caption}</figcaption></figure>"
        for name, caption in CAPTIONS.items()
    )
    body = f"""<p>{escape(about)}</p>
<h2>Comparison</h2>
{html_table(table)}
{figures}
{explained}
<h2>Where the words' analyses come from</h2>
{html_table(_covered(coverage))}"""
    return document(title, body)


def document(title: str, body: str) -> str:
    """A whole page, for light and dark, wide and narrow screens and paper."""
    template = Template((files("pipeline") / "page.html").read_text(encoding="utf-8"))
    return template.substitute(title=escape(title), body=body)


def html_table(table: pd.DataFrame) -> str:
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


def _covered(coverage: pd.DataFrame) -> pd.DataFrame:
    """The coverage table with shares, once where all models have the same."""
    share = coverage["tokens"] / coverage.groupby("model")["tokens"].transform("sum")
    shown = pd.DataFrame(
        {
            "model": coverage["model"],
            "answered by": coverage["source"],
            "known words": coverage["types"].map("{:,}".format),
            "training tokens": coverage["tokens"].map("{:,}".format),
            "share of tokens": share.map("{:.2%}".format),
        }
    )
    by_model = [part.drop(columns="model").values.tolist() for _, part in shown.groupby("model")]
    if all(part == by_model[0] for part in by_model):
        shown = shown[shown["model"] == shown["model"].iloc[0]].drop(columns="model")
    return shown


def _inline(figure: Figure, caption: str) -> str:
    text = svg(figure).decode()
    return text[text.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{caption}"', 1)
