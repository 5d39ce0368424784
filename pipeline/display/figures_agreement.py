"""Figures of agreement: the share of pairs that each model judges rightly."""

from itertools import cycle

import pandas as pd
from matplotlib.figure import Figure

from accord.pipeline.display.drawing import COLOURS, INK, styled


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
        axes.errorbar(found["share"], height, xerr=reach, fmt="o", color=colour, label=model)
    axes.axvline(0.5, color=INK, linewidth=1, linestyle=":")
    axes.set_yticks(range(len(groups)), [group.replace("_", " ") for group in groups])
    axes.set(xlim=(0, 1.02), ylim=(len(groups) - 0.5, -0.5))
    axes.set_title("share of pairs judged rightly; dotted: by chance", loc="left", fontsize=11)
    axes.legend(loc="lower left")
    return figure


@styled
def agreement_lines(accuracy: pd.DataFrame) -> Figure:
    """The share of pairs that each model judges rightly, along groups in their order."""
    groups = list(dict.fromkeys(accuracy["group"]))
    figure = Figure(figsize=(7, 3.6))
    axes = figure.subplots()
    models = accuracy.groupby("model", sort=False)
    for (model, found), colour in zip(models, cycle(COLOURS), strict=False):
        places = [groups.index(each) for each in found["group"]]
        axes.plot(places, found["share"], "o-", color=colour, linewidth=2, label=model)
        axes.fill_between(places, found["low"], found["high"], color=colour, alpha=0.15)
    axes.axhline(0.5, color=INK, linewidth=1, linestyle=":")
    axes.set_xticks(range(len(groups)), groups)
    axes.set_ylim(0, 1.02)
    axes.set_title("share of pairs judged rightly; dotted: by chance", loc="left", fontsize=11)
    axes.legend(loc="lower right")
    return figure
