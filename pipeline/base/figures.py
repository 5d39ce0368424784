"""Figures of runs, agreement and learning, and the style they share."""

from collections.abc import Mapping
from io import BytesIO
from itertools import cycle
from pathlib import Path

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter, LogLocator, NullLocator

from accord.models.common.files import whole, write_whole
from accord.pipeline.base.tables import by_seed, without_seed

COLOURS = ["#8a8f98", "#2f6fde", "#d9822b", "#3a9d5d", "#b5488f", "#7a5cc7", "#c23b3b", "#2a9da8"]
INK = "#6b7280"  # legible on white and on near-black
PAGE = {"wide": 11, "narrow": 4.6}  # inches
STYLE = {
    "font.size": 11,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": INK,
    "grid.alpha": 0.2,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "svg.fonttype": "none",
    "svg.hashsalt": "accord",  # the same figure is the same file
}


styled = mpl.rc_context(STYLE)  # around each function that draws


@styled
def save(figure: Figure, path: Path) -> str:
    """Save as PNG on white and as transparent SVG; return the SVG for a page."""
    with whole(path.with_suffix(".png")) as partial:
        figure.savefig(partial, dpi=150, metadata={"Software": None})
    drawn = svg(figure)
    write_whole(path.with_suffix(".svg"), drawn.encode())
    return drawn


def for_page(figure: Figure) -> dict[str, str]:
    """As SVG for wide and for narrow screens, with letters of the size of text."""
    _, height = figure.get_size_inches()
    drawn = {}
    for width, inches in PAGE.items():
        figure.set_size_inches(inches, height)
        drawn[width] = svg(figure)
    return drawn


@styled
def svg(figure: Figure) -> str:
    buffer = BytesIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return buffer.getvalue().decode()


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
    """Write the names of points in a column on the right, each as near its point as possible."""
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
def agreement_dots(accuracy: pd.DataFrame) -> Figure:
    """The share of pairs that each model judges rightly, by group, with its interval."""
    groups = list(dict.fromkeys(accuracy["group"]))
    figure = Figure(figsize=(7, 1.2 + 0.45 * len(groups)))
    axes = figure.subplots()
    models = accuracy.groupby("model", sort=False)
    for number, ((model, found), colour) in enumerate(zip(models, cycle(COLOURS), strict=False)):
        height = [
            groups.index(each) + 0.12 * (number - (len(models) - 1) / 2) for each in found["group"]
        ]
        reach = [found["share"] - found["low"], found["high"] - found["share"]]
        label = _with_ties(model, found)
        axes.errorbar(found["share"], height, xerr=reach, fmt="o", color=colour, label=label)
    axes.axvline(0.5, color=INK, linewidth=1, linestyle=":")
    axes.set_yticks(range(len(groups)), [group.replace("_", " ") for group in groups])
    axes.set(xlim=(0, 1.02), ylim=(len(groups) - 0.5, -0.5))
    axes.set_title("share of pairs judged rightly; dotted: by chance", loc="left", fontsize=11)
    axes.legend(loc="lower left")
    return figure


def _with_ties(model: str, accuracy: pd.DataFrame) -> str:
    """The name of a model, and in how many pairs it finds both sentences equally likely."""
    ties = accuracy["ties"].sum()
    return f"{model} ({ties:,.0f} ties)" if ties else model


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
