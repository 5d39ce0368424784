"""Figures that compare lexicons."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from accord.pipeline.display.drawing import COLOURS, styled

MOST = 12  # parts of speech shown, the most frequent first


@styled
def coverage_bars(coverage: Mapping[str, pd.DataFrame]) -> Figure:
    """Share of running words that each lexicon knows, by part of speech where it is known."""
    parts = next(iter(coverage.values()))["upos"].tolist()[:MOST]
    figure = Figure(figsize=(7, 1.2 + (0.12 + 0.22 * len(coverage)) * len(parts)))
    axes = figure.subplots()
    height = 0.8 / len(coverage)
    for number, (name, table) in enumerate(coverage.items()):
        shares = table.set_index("upos")["token_share"].reindex(parts).to_numpy()
        places = np.arange(len(parts)) + (number - (len(coverage) - 1) / 2) * height
        colour = COLOURS[(number + 1) % len(COLOURS)]
        axes.barh(places, shares, height * 0.9, color=colour, label=name)
        for place, share in zip(places, shares, strict=True):
            axes.text(share, place, f" {share:.1%}", va="center", fontsize=8)
    axes.set_yticks(range(len(parts)), parts)
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.set_xlim(0, 1.12)
    axes.xaxis.set_major_formatter("{x:.0%}")
    axes.set_title("running words that a lexicon knows", loc="left", fontsize=11)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.06), ncols=len(coverage))
    return figure
