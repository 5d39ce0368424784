"""The report as one HTML page that needs nothing beside it: tables, figures inline, no scripts."""

from collections.abc import Mapping
from html import escape
from importlib.resources import files
from string import Template

import pandas as pd

from accord.pipeline.base.tables import html_table

Drawn = Mapping[str, Mapping[str, str]]  # figures by name, each by the width of a screen
REAL = (
    "Is it chance? Sentences of the test are drawn anew 10,000 times; a difference is real where "
    "95 % of the draws lie on one side of none. It tells nothing of another training."
)
CAPTIONS = {
    "perplexity": "Perplexity on the test sentences.",
    "learning": "Perplexity by the size of the training text; a cross is a seed.",
    "curves": "Loss by epoch; a ring marks the epoch whose weights were kept.",
    "agreement": "Share of minimal pairs whose right sentence is likelier, by construction, with "
    "its 95 % interval. A tie counts one half.",
}


def comparison(
    headline: str, about: str, table: pd.DataFrame, differ: pd.DataFrame, drawn: Drawn
) -> str:
    """The models side by side: the result in a sentence, the table, and whether it is chance."""
    first = f'<p class="headline">{escape(headline)}</p>\n' if headline else ""
    real = "" if differ.empty else f"<p>{REAL}</p>\n{html_table(differ)}"
    return f"""{first}<p>{escape(about)}</p>
<h2>Comparison</h2>
{html_table(table)}
{_figure(drawn, "perplexity")}
{real}
{_figure(drawn, "learning")}
{_figure(drawn, "curves")}"""


def agreement(table: pd.DataFrame, drawn: Drawn) -> str:
    """The results on agreement, if there are any."""
    if table.empty:
        return ""
    return f"""<h2>Agreement</h2>
{_figure(drawn, "agreement")}
{html_table(table)}"""


def coverage(table: pd.DataFrame) -> str:
    """How much of the text each lexicon answered for."""
    return f"""<h2>Where the words' analyses come from</h2>
{html_table(_covered(table))}"""


def configuration(table: pd.DataFrame, made: str) -> str:
    """The settings of each model, and when the page was written."""
    return f"""<details><summary>How each was built and trained</summary>
{html_table(table)}
</details>
<p>{escape(made)} run.json beside this folder has the whole configuration.</p>"""


def document(title: str, body: str) -> str:
    """A whole page, for light and dark, wide and narrow screens and paper."""
    template = Template((files("accord.pipeline.base") / "page.html").read_text(encoding="utf-8"))
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


def _figure(drawn: Drawn, name: str) -> str:
    """A figure for wide and for narrow screens; the page shows one of them."""
    if name not in drawn:
        return ""
    caption = CAPTIONS[name]
    both = "".join(
        f'<div class="{width}">{_inline(text, caption)}</div>'
        for width, text in drawn[name].items()
    )
    return f"<figure>{both}<figcaption>{caption}</figcaption></figure>"


def _inline(text: str, caption: str) -> str:
    return text[text.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{caption}"', 1)
