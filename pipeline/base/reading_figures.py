"""Figures along sentences: surprisal by region, what is expected before each word, and people."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from accord.models.common.files import whole
from accord.pipeline.base.figures import COLOURS, INK, styled

LINES = ("-", "--", ":", "-.")  # of the models, where colours are for values
LEAST = 0.05  # a value that is never this likely is not drawn
DODGE = 0.08  # between the intervals of two conditions, of the way from region to region
NORMAL = 1.96  # standard errors to each side of a mean: 95 of 100 intervals hold the true one


@styled
def surprisal_by_region(words: pd.DataFrame, by: str | None, item: str | None = None) -> Figure:
    """The mean over sentences of each region's summed surprisal, with intervals.

    Where every `item` has every condition, the intervals are within items.
    """
    place = "region" if "region" in words else "position"
    models = words["model"].unique() if "model" in words else [None]
    figure = Figure(figsize=(max(6, 1.4 * words[place].nunique()), 0.6 + 3.2 * len(models)))
    panels = figure.subplots(len(models), squeeze=False, sharex=True)[:, 0]
    order = list(dict.fromkeys(words[place]))
    for axes, model in zip(panels, models, strict=True):
        own = words if model is None else words[words["model"] == model]
        conditions, kind = _means(own, place, by, item)
        for number, (name, means) in enumerate(conditions):
            beside = DODGE * (number - (len(conditions) - 1) / 2)
            axes.errorbar(
                [order.index(each) + beside for each in means.index],
                means["mean"],
                yerr=means["reach"].fillna(0),
                fmt="o-",
                capsize=3,
                color=COLOURS[1:][number % (len(COLOURS) - 1)],
                label=f"{name} (n = {means['n'].max():.0f})",
            )
        axes.set_ylabel(f"bits per {place if place == 'region' else 'word'}")
        title = f"mean surprisal, 95 % intervals{kind}"
        axes.set_title(f"{model}: {title}" if model else title, loc="left", fontsize=11)
        if by:
            axes.legend(title=by)
    panels[-1].set_xticks(range(len(order)), map(str, order))
    panels[-1].set_xlabel(place)
    return figure


def _means(
    words: pd.DataFrame, place: str, by: str | None, item: str | None
) -> tuple[list[tuple[str, pd.DataFrame]], str]:
    """For each condition mean, reach of its interval and n by place; and the kind of interval."""
    kept = [name for name in (by, item) if name and name in words]
    sums = words.groupby(["row", place, *kept], sort=False)["surprisal"].sum().reset_index()
    is_within = bool(by and item in sums and _is_crossed(sums, by, item))
    if is_within:
        sums["apart"] = _within_items(sums, place, by, item)
    order, found = list(dict.fromkeys(words[place])), []
    for name, own in sums.groupby(by, sort=False) if by else [("", sums)]:
        means = own.groupby(place)["surprisal"].agg(mean="mean", n="count", sem="sem")
        means["reach"] = NORMAL * means["sem"]
        if is_within:
            means["reach"] = NORMAL * own.groupby(place)["apart"].sem()
        found.append((str(name), means.reindex([each for each in order if each in means.index])))
    return found, " within items" if is_within else ""


def _is_crossed(sums: pd.DataFrame, by: str, item: str) -> bool:
    """Whether every item has one row in every condition, and there are several of both."""
    rows = sums[["row", item, by]].drop_duplicates()
    counts = rows.groupby([item, by]).size().unstack(fill_value=0)
    return min(counts.shape) > 1 and bool((counts == 1).all(axis=None))


def _within_items(sums: pd.DataFrame, place: str, by: str, item: str) -> pd.Series:
    """Surprisal without what items differ in, by place: its spread is that within items.

    Every item's mean is taken out (Cousineau 2005), and deviations grow by √(C / (C − 1)) for C
    conditions (Morey 2008).
    """
    conditions = sums[by].nunique()
    means = sums.groupby([place, item])["surprisal"].transform("mean")
    apart = sums["surprisal"] - means
    of_condition = apart.groupby([sums[place], sums[by]]).transform("mean")
    return of_condition + (apart - of_condition) * np.sqrt(conditions / (conditions - 1))


@styled
def expectations(table: pd.DataFrame, features: Sequence[str]) -> Figure:
    """The probability of each value along a sentence: a panel per feature, a line per model."""
    models = list(table["model"].unique()) if "model" in table else [None]
    words = table["before"][: len(table) // len(models)].tolist()
    figure = Figure(figsize=(max(6, 0.9 * len(words)), 0.8 + 2.6 * len(features)))
    panels = figure.subplots(len(features), squeeze=False, sharex=True)[:, 0]
    for axes, feature in zip(panels, features, strict=True):
        values = _drawn(table, feature)
        lines = product(enumerate(models), enumerate(values))
        for (at_model, model), (at_value, value) in lines:
            own = table if model is None else table[table["model"] == model]
            at_colour, style = (at_value, LINES[at_model % len(LINES)])
            if len(values) == 1:
                at_colour, style = at_model, "-"
            axes.plot(
                np.arange(len(words)),
                own[value],
                style,
                marker="o",
                markersize=4,
                color=COLOURS[at_colour % len(COLOURS)],
                label=_label(value, model, len(values)),
            )
        axes.set(ylim=(-0.02, 1.02))
        axes.set_title(f"P({feature})", loc="left", fontsize=11)
        axes.legend(bbox_to_anchor=(1.0, 1.0), loc="upper left", fontsize=9)
    panels[-1].set_xticks(np.arange(len(words)), words, rotation=30, ha="right", color=INK)
    panels[-1].set_xlabel("before the word")
    return figure


def _drawn(table: pd.DataFrame, feature: str) -> list[str]:
    """The columns of a feature that are somewhere likely; the one that was asked for by name."""
    if "=" in feature:
        return [feature]
    own = [name for name in table.columns if name.startswith(f"{feature}=")]
    return [name for name in own if table[name].max() >= LEAST]


def _label(value: str, model: str | None, values: int) -> str:
    shown = value.partition("=")[2]
    if model is None:
        return shown
    return model if values == 1 else f"{shown}, {model}"


BINS = 20  # of items, as many in each


@styled
def partial_effects(partial: Mapping[str, pd.DataFrame], measure: str) -> Figure:
    """A measure of people against surprisal, both less what the baseline explains: a panel a model.

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
        axes.set_title(name, loc="left", fontsize=11)
        axes.set_xlabel("surprisal, residual bits")
    panels[0].set_ylabel(f"{measure}, residual")
    return figure


@styled
def draw(figure: Figure, path: Path) -> None:
    """Save as PNG on white or as transparent SVG, by the ending of the file."""
    is_svg = path.suffix == ".svg"
    metadata = {"Date": None} if is_svg else {"Software": None}
    with whole(path) as partial:
        figure.savefig(partial, dpi=150, bbox_inches="tight", transparent=is_svg, metadata=metadata)
