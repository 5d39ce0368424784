"""Figures of runs, agreement and learning, of words along sentences, and their style."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from itertools import cycle, product
from pathlib import Path

import matplotlib as mpl
import numpy as np
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
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
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
def save(figure: Figure, path: Path) -> None:
    """Save as PNG on white and as transparent SVG."""
    with whole(path.with_suffix(".png")) as partial:
        figure.savefig(partial, dpi=150, metadata={"Software": None})
    write_whole(path.with_suffix(".svg"), _svg(figure).encode())


@styled
def draw(figure: Figure, path: Path) -> None:
    """Save as PNG on white or as transparent SVG, by the ending of the file."""
    is_svg = path.suffix == ".svg"
    metadata = {"Date": None} if is_svg else {"Software": None}
    with whole(path) as partial:
        figure.savefig(partial, dpi=150, bbox_inches="tight", transparent=is_svg, metadata=metadata)


def for_page(figure: Figure) -> dict[str, str]:
    """Return SVGs for wide and for narrow screens, with letters of the size of text."""
    _, height = figure.get_size_inches()
    svgs = {}
    for width, inches in PAGE.items():
        figure.set_size_inches(inches, height)
        svgs[width] = _svg(figure)
    return svgs


@styled
def _svg(figure: Figure) -> str:
    buffer = BytesIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    return buffer.getvalue().decode()


def _drawing(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height))
    return figure, figure.subplots()


def _panels(panels: int, width: float, height: float) -> tuple[Figure, Sequence[Axes]]:
    """Return panels below each other, with one x axis."""
    figure = Figure(figsize=(width, height))
    return figure, figure.subplots(panels, squeeze=False, sharex=True)[:, 0]


@styled
def loss_curves(curves: pd.DataFrame) -> Figure:
    """Draw validation loss by epoch, a ring around the best epoch."""
    figure, axes = _drawing(7, 4)
    models = curves.groupby("model", sort=False)
    for (model, rows), colour in zip(models, cycle(COLOURS), strict=False):
        axes.plot(rows["epoch"], rows["valid_nats"], color=colour, label=model, linewidth=2)
        best = rows.loc[rows["valid_nats"].idxmin()]
        axes.plot(best["epoch"], best["valid_nats"], "o", color=colour, markersize=8, mfc="none")
    axes.set(xlabel="epoch", ylabel="nats per word")
    axes.set_title("validation loss")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend()
    return figure


@styled
def perplexity_bars(scores: pd.DataFrame) -> Figure:
    """Draw the perplexity of every model, the mean of its seeds, on every test split."""
    judged = ~scores["split"].str.match("(?:train|valid)(?:/|$)")
    chosen = scores[(scores["metric"] == "perplexity") & judged]
    chosen = chosen.assign(model=chosen["model"].map(without_seed))
    wide = chosen.pivot_table(index="model", columns="split", values="value", sort=False)
    figure, axes = _drawing(7, 0.9 + 0.5 * wide.size)
    for row, ((model, split), value) in enumerate(wide.stack().items()):
        name = model if wide.shape[1] == 1 else f"{model}, {split}"
        colour, shown = COLOURS[list(wide.index).index(model) % len(COLOURS)], f"{value:,.1f}"
        axes.barh(name, value, color=colour, height=0.6)
        axes.annotate(shown, (value, row), (4, 0), textcoords="offset points", va="center")
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.margins(x=0.12)
    axes.set_title("test perplexity: lower is better")
    return figure


@styled
def perplexity_against_time(scores: pd.DataFrame, split: str) -> Figure:
    """Draw perplexity on a split against the seconds to the best epoch; a cross is a seed."""
    values = scores.set_index(["model", "split", "metric"])["value"]
    models = by_seed(scores["model"][scores["split"] == split].unique())
    figure, axes = _drawing(7, max(4.5, 0.9 + 0.24 * len(models)))
    names = {}
    for colour, (model, seeds) in zip(cycle(COLOURS), models.items(), strict=False):
        seconds = [values[seed, "train", "seconds to the best epoch"] for seed in seeds]
        perplexity = [values[seed, split, "perplexity"] for seed in seeds]
        axes.plot(seconds, perplexity, "x", color=colour, markersize=5)
        middle = sum(seconds) / len(seeds), sum(perplexity) / len(seeds)
        axes.plot(*middle, "o", color=colour, markersize=8)
        names[model] = middle, colour
    axes.set(xscale="log", yscale="log", ylabel=f"perplexity ({split})")
    axes.set_xlabel("seconds of training to the best epoch")
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.xaxis.set_minor_formatter(LogFormatter())
    axes.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_minor_formatter("{x:,.0f}")
    axes.margins(x=0.1, y=0.1)
    _name_points(axes, names)
    axes.set_title("what training time buys: lower and further left is better")
    return figure


def _name_points(axes: Axes, names: Mapping[str, tuple[tuple[float, float], str]]) -> None:
    """Write the names of points in a column on the right, each as near its point as possible."""
    axes.autoscale_view()  # so that heights are those of the finished figure
    to_axes = (axes.transData + axes.transAxes.inverted()).transform
    heights = {name: to_axes(point)[1] for name, (point, _) in names.items()}
    line, last = 0.23 / axes.figure.get_figheight(), 2.0
    for rank, name in enumerate(sorted(heights, key=heights.get, reverse=True), start=1):
        last = max(min(heights[name], last - line), line * (len(names) - rank))
        point, colour = names[name]
        line_to = {"arrowstyle": "-", "color": colour, "alpha": 0.35, "relpos": (0, 0.5)}
        style = {"textcoords": "axes fraction", "va": "center", "color": colour}
        axes.annotate(name, point, (1.04, last), **style, arrowprops=line_to)


@styled
def agreement_dots(accuracy: pd.DataFrame) -> Figure:
    """Draw the share of pairs that each model judges rightly, by group, with its interval."""
    groups = list(dict.fromkeys(accuracy["group"]))
    models = accuracy.groupby("model", sort=False)
    figure, axes = _drawing(7, 1.2 + 0.45 * len(groups) + 0.25 * len(models))
    for number, ((model, rows), colour) in enumerate(zip(models, cycle(COLOURS), strict=False)):
        offset = 0.12 * (number - (len(models) - 1) / 2)
        height = [groups.index(group) + offset for group in rows["group"]]
        reach = [rows["share"] - rows["low"], rows["high"] - rows["share"]]
        ties = rows["ties"].sum()  # pairs whose sentences are equally likely
        label = f"{model} ({ties:,.0f} ties)" if ties else model
        axes.errorbar(rows["share"], height, xerr=reach, fmt="o", color=colour, label=label)
    axes.axvline(0.5, color=INK, linewidth=1, linestyle=":")
    axes.set_yticks(range(len(groups)), [group.replace("_", " ") for group in groups])
    axes.set(xlim=(0, 1.02), ylim=(len(groups) - 0.5, -0.5))
    # Over the whole width and below, as the names of groups leave little of a narrow screen.
    title = "share of pairs judged rightly; dotted: by chance"
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    figure.legend(loc="outside lower left")
    return figure


@styled
def learning_curve(rows: pd.DataFrame, metric: str) -> Figure:
    """Draw a line for each kind of model; `rows` have kind, sentences and value of each seed."""
    figure, axes = _drawing(7, 4.5)
    kinds = rows.groupby("kind", sort=False)
    for (kind, of_kind), colour in zip(kinds, cycle(COLOURS), strict=False):
        axes.plot(of_kind["sentences"], of_kind["value"], "x", color=colour, markersize=5)
        mean = of_kind.groupby("sentences")["value"].mean()
        axes.plot(mean.index, mean, "o-", color=colour, label=kind, linewidth=2)
    axes.set(xscale="log", xlabel="sentences of training text", ylabel=f"{metric} (test)")
    sizes = sorted(rows["sentences"].unique())
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_title("what more text brings: lower is better")
    axes.legend()
    return figure


LINES = ("-", "--", ":", "-.")  # of the models, where colours are for values
LEAST = 0.05  # a value that is never this likely is not drawn
DODGE = 0.08  # between the intervals of two conditions, of the way from region to region
NORMAL = 1.96  # standard errors to each side of a mean: 95 of 100 intervals hold the true one


@styled
def surprisal_by_region(words: pd.DataFrame, by: str | None, item: str | None = None) -> Figure:
    """Draw the mean over sentences of each region's summed surprisal, with intervals.

    Where every `item` has every condition, the intervals are within items.
    """
    place = "region" if "region" in words else "position"
    models, order = _models(words), list(dict.fromkeys(words[place]))
    figure, panels = _panels(len(models), max(6, 1.4 * len(order)), 0.6 + 3.2 * len(models))
    for axes, (model, of_model) in zip(panels, models.items(), strict=True):
        conditions, kind = _means(of_model, place, by, item)
        for number, (name, means) in enumerate(conditions):
            offset = DODGE * (number - (len(conditions) - 1) / 2)
            regions = [order.index(region) + offset for region in means.index]
            colour = COLOURS[1:][number % (len(COLOURS) - 1)]
            style = {"fmt": "o-", "capsize": 3, "color": colour, "yerr": means["reach"].fillna(0)}
            label = f"{name} (n = {means['n'].max():.0f})"
            axes.errorbar(regions, means["mean"], **style, label=label)
        title = f"mean surprisal, 95 % intervals{kind}"
        unit = place if place == "region" else "word"
        axes.set(title=f"{model}: {title}" if model else title, ylabel=f"bits per {unit}")
        if by:
            axes.legend(title=by)
    panels[-1].set_xticks(range(len(order)), map(str, order))
    panels[-1].set_xlabel(place)
    return figure


def _models(table: pd.DataFrame) -> dict[str | None, pd.DataFrame]:
    """Return the rows of each model; one without a name has all."""
    return dict(iter(table.groupby("model", sort=False))) if "model" in table else {None: table}


def _means(
    words: pd.DataFrame, place: str, by: str | None, item: str | None
) -> tuple[list[tuple[str, pd.DataFrame]], str]:
    """Return mean, reach of the interval and n of each condition, and the kind of interval."""
    kept = [name for name in (by, item) if name and name in words]
    sums = words.groupby(["row", place, *kept], sort=False)["surprisal"].sum().reset_index()
    is_within = False  # unless every item has one row in every condition, several of both
    if by and item in sums:
        rows = sums[["row", item, by]].drop_duplicates()
        counts = rows.groupby([item, by]).size().unstack(fill_value=0)
        is_within = min(counts.shape) > 1 and bool((counts == 1).all(axis=None))
    if is_within:
        sums["within"] = _within_items(sums, place, by, item)
    order, conditions = list(dict.fromkeys(words[place])), []
    for name, rows in sums.groupby(by, sort=False) if by else [("", sums)]:
        means = rows.groupby(place)["surprisal"].agg(mean="mean", n="count", sem="sem")
        means["reach"] = NORMAL * means["sem"]
        if is_within:
            means["reach"] = NORMAL * rows.groupby(place)["within"].sem()
        regions = [region for region in order if region in means.index]
        conditions.append((str(name), means.reindex(regions)))
    return conditions, " within items" if is_within else ""


def _within_items(sums: pd.DataFrame, place: str, by: str, item: str) -> pd.Series:
    """Return surprisal without the differences of items, by place: its spread is within items.

    Every item's mean is taken out (Cousineau 2005), and deviations grow by √(C / (C − 1)) for C
    conditions (Morey 2008).
    """
    conditions = sums[by].nunique()
    means = sums.groupby([place, item])["surprisal"].transform("mean")
    deviations = sums["surprisal"] - means
    of_condition = deviations.groupby([sums[place], sums[by]]).transform("mean")
    return of_condition + (deviations - of_condition) * np.sqrt(conditions / (conditions - 1))


@styled
def expectations(table: pd.DataFrame, features: Sequence[str]) -> Figure:
    """Draw each value's probability along a sentence: a panel per feature, a line per model."""
    models = _models(table)
    words = table["before"][: len(table) // len(models)].tolist()
    figure, panels = _panels(len(features), max(6, 0.9 * len(words)), 0.8 + 2.6 * len(features))
    for axes, feature in zip(panels, features, strict=True):
        values = [feature]  # of a value, its name is its column
        if "=" not in feature:
            columns = (name for name in table.columns if name.startswith(f"{feature}="))
            values = [name for name in columns if table[name].max() >= LEAST]
        for (nth, model), (colour, value) in product(enumerate(models), enumerate(values)):
            shown, style = value.partition("=")[2], LINES[nth % len(LINES)]
            if len(values) == 1:
                colour, style = nth, "-"
                shown = shown if model is None else ""
            look = {"marker": "o", "markersize": 4, "color": COLOURS[colour % len(COLOURS)]}
            label = ", ".join(filter(None, [shown, model]))
            axes.plot(range(len(words)), models[model][value], style, **look, label=label)
        axes.set(ylim=(-0.02, 1.02), title=f"P({feature})")
        axes.legend(bbox_to_anchor=(1.0, 1.0), loc="upper left", fontsize=9)
    panels[-1].set_xticks(range(len(words)), words, rotation=30, ha="right", color=INK)
    panels[-1].set_xlabel("before the word")
    return figure


BINS = 20  # of items, as many in each


@styled
def partial_effects(partial: Mapping[str, pd.DataFrame], measure: str) -> Figure:
    """Draw a measure of people against surprisal, both less the baseline: a panel a model.

    A dot is the mean of a twentieth of the items with its 95 % interval; the line is the fit.
    """
    figure = Figure(figsize=(max(5, 3.6 * len(partial)), 3.6))
    panels = figure.subplots(1, len(partial), squeeze=False, sharey=True)[0]
    for axes, (name, rest) in zip(panels, partial.items(), strict=True):
        by_bin = rest.groupby(pd.qcut(rest["bits"].rank(method="first"), BINS, labels=False))
        means, spread = by_bin.mean(), NORMAL * by_bin["y"].sem()
        axes.errorbar(means["bits"], means["y"], yerr=spread, fmt="o", capsize=2, color=COLOURS[1])
        slope = (rest["bits"] @ rest["y"]) / (rest["bits"] @ rest["bits"])
        ends = means["bits"].iloc[[0, -1]]
        axes.plot(ends, slope * ends, color=INK, linewidth=1)
        axes.set(title=name, xlabel="surprisal, residual bits")
    panels[0].set_ylabel(f"{measure}, residual")
    return figure
