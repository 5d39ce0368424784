"""Figures of training, of what it leads to and of what it costs."""

from collections.abc import Mapping
from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter, LogLocator

from accord.pipeline.display.drawing import COLOURS, styled
from accord.pipeline.display.seeds import by_seed, without_seed


@styled
def loss_curves(curves: pd.DataFrame) -> Figure:
    """Validation loss by epoch, training loss dotted, a ring around the best epoch."""
    figure = Figure(figsize=(7, 4))
    axes = figure.subplots()
    models = curves.groupby("model", sort=False)
    for (model, rows), colour in zip(models, cycle(COLOURS), strict=False):
        axes.plot(rows["epoch"], rows["valid_nats"], color=colour, label=model, linewidth=2)
        axes.plot(rows["epoch"], rows["train_nats"], color=colour, linestyle=":", linewidth=1.5)
        best = rows.loc[rows["valid_nats"].idxmin()]
        axes.plot(best["epoch"], best["valid_nats"], "o", color=colour, markersize=8, mfc="none")
    axes.set_xlabel("epoch")
    axes.set_ylabel("nats per word, its spelling left out")
    axes.set_title("validation (solid) and training (dotted) loss", loc="left", fontsize=11)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend()
    return figure


@styled
def perplexity_bars(scores: pd.DataFrame) -> Figure:
    """Perplexity of every model, the mean of its seeds, on every test split."""
    judged = ~scores["split"].str.match("(?:train|valid)(?:/|$)")
    chosen = scores[(scores["metric"] == "perplexity") & judged]
    chosen = chosen.assign(model=chosen["model"].map(without_seed))
    wide = chosen.pivot_table(index="model", columns="split", values="value", sort=False)
    figure = Figure(figsize=(7, 0.9 + 0.5 * wide.size))
    axes = figure.subplots()
    for place, (label, value) in enumerate(wide.stack().items()):
        name = label[0] if wide.shape[1] == 1 else f"{label[0]}, {label[1]}"
        colour = COLOURS[list(wide.index).index(label[0]) % len(COLOURS)]
        axes.barh(name, value, color=colour, height=0.6)
        beside = {"textcoords": "offset points", "va": "center"}
        axes.annotate(f"{value:,.1f}", (value, place), (4, 0), **beside)
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.margins(x=0.12)
    axes.set_title("test perplexity: lower is better", loc="left", fontsize=11)
    return figure


@styled
def perplexity_against_time(scores: pd.DataFrame, split: str) -> Figure:
    """Perplexity on a split against the seconds to the best epoch; a cross is a seed."""
    values = scores.set_index(["model", "split", "metric"])["value"]
    scored = scores["model"][scores["split"] == split].unique()
    drawn = by_seed(scored)
    figure = Figure(figsize=(7, max(4.5, 0.9 + 0.24 * len(drawn))))
    axes = figure.subplots()
    names = {}
    for colour, (model, seeds) in zip(cycle(COLOURS), drawn.items(), strict=False):
        seconds = [values[seed, "train", "seconds to the best epoch"] for seed in seeds]
        perplexity = [values[seed, split, "perplexity"] for seed in seeds]
        axes.plot(seconds, perplexity, "x", color=colour, markersize=5)
        middle = sum(seconds) / len(seeds), sum(perplexity) / len(seeds)
        axes.plot(*middle, "o", color=colour, markersize=8)
        names[model] = middle, colour
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.xaxis.set_minor_formatter(LogFormatter())
    axes.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_minor_formatter("{x:,.0f}")
    axes.margins(x=0.1, y=0.1)
    _name_beside(axes, names)
    axes.set_xlabel("seconds of training to the best epoch")
    axes.set_ylabel(f"perplexity ({split})")
    axes.set_title("what training time buys: lower and further left is better", loc="left")
    return figure


def _name_beside(axes: Axes, names: Mapping[str, tuple[tuple[float, float], str]]) -> None:
    """Points' names in a column on the right, each as near its point as the others leave room."""
    axes.autoscale_view()  # so that heights are those of the finished figure
    to_axes = (axes.transData + axes.transAxes.inverted()).transform
    heights = {name: to_axes(point)[1] for name, (point, _) in names.items()}
    line, last = 0.23 / axes.figure.get_figheight(), 2.0
    for place, name in enumerate(sorted(heights, key=heights.get, reverse=True), start=1):
        last = max(min(heights[name], last - line), line * (len(names) - place))
        point, colour = names[name]
        axes.annotate(
            name,
            point,
            (1.04, last),
            textcoords="axes fraction",
            va="center",
            color=colour,
            arrowprops={"arrowstyle": "-", "color": colour, "alpha": 0.35, "relpos": (0, 0.5)},
        )


@styled
def weight_map(weights: pd.DataFrame) -> Figure:
    """How the weights of features (columns) move from word to word (rows): red is for it."""
    figure = Figure(figsize=(max(4.5, 1.6 + 0.75 * weights.shape[1]), 1.6 + 0.42 * len(weights)))
    axes = figure.subplots()
    reach = max(weights.abs().to_numpy().max(), 1e-6)
    shades = axes.imshow(weights, cmap="RdBu_r", vmin=-reach, vmax=reach, aspect="auto")
    axes.set_xticks(range(weights.shape[1]), weights.columns, rotation=40, ha="right")
    axes.set_yticks(range(len(weights)), weights.index)
    for row, column in np.ndindex(*weights.shape):
        weight = weights.iat[row, column]
        ink = "white" if abs(weight) > 0.6 * reach else "#1c2430"
        axes.text(column, row, f"{weight:+.1f}", ha="center", va="center", color=ink, fontsize=9)
    axes.grid(visible=False)
    axes.set_title("weight of each feature after each word", loc="left", fontsize=11)
    figure.colorbar(shades, ax=axes, label="nats", fraction=0.04)
    return figure
