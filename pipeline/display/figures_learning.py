"""The learning curve: how good models are by how much text they were trained on."""

from itertools import cycle

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from accord.pipeline.display.drawing import COLOURS, styled


@styled
def learning_curve(rows: pd.DataFrame, metric: str) -> Figure:
    """A line for each kind of model; `rows` have kind, sentences and value, one for each seed."""
    figure = Figure(figsize=(7, 4.5))
    axes = figure.subplots()
    kinds = rows.groupby("kind", sort=False)
    for (kind, of_kind), colour in zip(kinds, cycle(COLOURS), strict=False):
        axes.plot(of_kind["sentences"], of_kind["value"], "x", color=colour, markersize=5)
        mean = of_kind.groupby("sentences")["value"].mean()
        axes.plot(mean.index, mean, "o-", color=colour, label=kind, linewidth=2)
    axes.set_xscale("log")
    sizes = sorted(rows["sentences"].unique())
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("sentences of training text")
    axes.set_ylabel(f"{metric} (test)")
    axes.set_title("what more text brings: lower is better", loc="left", fontsize=11)
    axes.legend()
    return figure
