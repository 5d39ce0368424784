"""How figures look, so that they read on a light and on a dark page, and how they are saved."""

from io import BytesIO
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

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
    """As PNG on white and as SVG on nothing; returns the latter, to be put into a page."""
    figure.savefig(path.with_suffix(".png"), dpi=150, metadata={"Software": None})
    drawn = svg(figure)
    path.with_suffix(".svg").write_text(drawn, encoding="utf-8")
    return drawn


def for_page(figure: Figure) -> dict[str, str]:
    """As SVG for wide and for narrow screens: the letters of each have the size of a text's."""
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
