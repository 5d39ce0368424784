"""The report as one HTML page that needs nothing beside it: tables, figures inline, no scripts."""

from collections.abc import Mapping
from html import escape
from importlib.resources import files
from string import Template

import pandas as pd

from pipeline.display.tables import html_table

CAPTIONS = {
    "perplexity": "Perplexity on the test sentences.",
    "learning": "Perplexity by the size of the training text; a cross is a seed.",
    "curves": "Loss by epoch; a ring marks the epoch whose weights were kept.",
    "agreement": "Share of minimal pairs whose right sentence is likelier, by construction, with "
    "its 95 % interval.",
}


def comparison(headline: str, about: str, table: pd.DataFrame, drawn: Mapping[str, str]) -> str:
    """The models side by side, what comes of it in a sentence first."""
    first = f'<p class="headline">{escape(headline)}</p>\n' if headline else ""
    return f"""{first}<p>{escape(about)}</p>
<h2>Comparison</h2>
{html_table(table)}
{_figure(drawn, "perplexity")}
{_figure(drawn, "learning")}
{_figure(drawn, "curves")}"""


def agreement(table: pd.DataFrame, drawn: Mapping[str, str]) -> str:
    """What the models know of agreement, where they were asked."""
    if table.empty:
        return ""
    return f"""<h2>Agreement</h2>
{_figure(drawn, "agreement")}
{html_table(table)}"""


def coverage(table: pd.DataFrame) -> str:
    """How much of the text each lexicon answered for."""
    return f"""<h2>Where the words' analyses come from</h2>
{html_table(_covered(table))}"""


def recipes(table: pd.DataFrame) -> str:
    """How each model was built and trained, for who asks."""
    return f"""<details><summary>How each was built and trained</summary>
{html_table(table)}
</details>"""


def document(title: str, body: str) -> str:
    """A whole page, for light and dark, wide and narrow screens and paper."""
    template = Template((files("pipeline.display") / "page.html").read_text(encoding="utf-8"))
    return template.substitute(title=escape(title), body=body)


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


def _figure(drawn: Mapping[str, str], name: str) -> str:
    """A figure inside the page, if it was drawn."""
    if name not in drawn:
        return ""
    caption, text = CAPTIONS[name], drawn[name]
    inline = text[text.index("<svg") :].replace(
        "<svg", f'<svg role="img" aria-label="{caption}"', 1
    )
    return f'<figure><div class="scroll">{inline}</div><figcaption>{caption}</figcaption></figure>'
