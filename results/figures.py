"""The figures of results/README.md, drawn from tables that stand elsewhere in the repository.

python results/figures.py
"""

import json
import re
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
PERPLEXITY, AGREEMENT = HERE / "perplexity.svg", HERE / "agreement.svg"
SCALING = HERE / "scaling.svg"
BLUE, ORANGE, GREEN, GREY = "#3f51b5", "#c77800", "#2e7d32", "#8a8a8a"
WORDS = {1e5: "0.1", 3e5: "0.3", 1e6: "1", 3e6: "3", 1e7: "10", 3.34e7: "33"}
TITLES = {
    "bits per character": "bits per character (lower is better)",
    "CLAMS": "agreement: pairs of CLAMS judged rightly",
}
WITH_LEXICON = "LL-RNN"


def table(page: Path, first: str) -> list[list[str]]:
    """The rows of the table whose first column has this title, without marks of bold type."""
    lines = page.read_text(encoding="utf-8").replace("**", "").splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith(f"| {first} |"))
    rows = []
    for line in lines[begin:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return [rows[0], *rows[2:]]


def perplexities() -> dict[str, float]:
    """Test perplexity of each model of README's table."""
    _, *rows = table(HERE.parent / "README.md", "model")
    return {name: float(re.match(r"[\d.]+", value)[0]) for name, value, *_ in rows}


def agreements() -> dict[str, dict[str, float]]:
    """The share of whole sentences judged rightly: construction, then model."""
    (_, _, *titles), *rows = table(HERE / "log" / "agreement.md", "construction")
    chosen = {at: title for at, title in enumerate(titles) if title.endswith("sentence")}
    names = {at: re.split(r" \(|,", title)[0] for at, title in chosen.items()}
    return {name: {names[at]: float(values[at]) for at in names} for name, _, *values in rows}


def scaling() -> dict[str, dict[str, list[list[float]]]]:
    """Bits per character and CLAMS: title, then model, then pairs of words and figure."""
    titles, *rows = table(HERE / "log" / "scaling.md", "words of training")
    found: dict[str, dict[str, list[list[float]]]] = {}
    words = 0
    for first, model, *values in rows:
        words = int(first.replace(",", "")) if first else words
        for title, value in zip(titles[2:], values, strict=True):
            if title in ("bits per character", "CLAMS"):
                found.setdefault(title, {}).setdefault(model, []).append([words, float(value)])
    return found


def draw_perplexity() -> plt.Figure:
    found = perplexities()
    figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
    colours = [BLUE if name.startswith(WITH_LEXICON) else GREY for name in found]
    bars = axes.barh([*found], [*found.values()], color=colours)
    axes.bar_label(bars, [f"{value:.1f}" for value in found.values()], padding=3)
    axes.invert_yaxis()
    axes.set_xlabel("test perplexity, UD French, closed vocabulary (blue: with the lexicon)")
    axes.set_xlim(0, max(found.values()) * 1.1)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def draw_agreement() -> plt.Figure:
    found = agreements()
    models = [*next(iter(found.values()))]
    figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
    for model, colour in zip(models, (BLUE, ORANGE, GREY), strict=True):
        shares = [found[construction][model] for construction in found]
        axes.scatter(shares, [*found], color=colour, label=model, s=45, zorder=3)
    axes.axvline(0.5, color=GREY, linestyle=":", zorder=1)
    axes.invert_yaxis()
    axes.set_xlim(0.33, 1.02)
    axes.set_xlabel("share of pairs judged rightly (dotted: chance)")
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.14), ncols=3, frameon=False)
    return figure


def draw_scaling() -> plt.Figure:
    figure, panels = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
    styles = {"LL-RNN": (BLUE, "o"), "RNN": (ORANGE, "s"), "BPE-LSTM": (GREEN, "^")}
    for axes, (title, of_models) in zip(panels, scaling().items(), strict=True):
        for model, points in of_models.items():
            colour, mark = styles.get(model, (GREY, "D"))
            axes.plot(*zip(*points, strict=True), color=colour, marker=mark, ms=5, label=model)
        axes.set_xscale("log")
        axes.set_xticks([*WORDS], [*WORDS.values()])
        axes.minorticks_off()
        axes.set_xlabel("million words of training")
        axes.set_title(TITLES[title], fontsize=10)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(
        *axes.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False
    )
    return figure


DATA = {PERPLEXITY: perplexities, AGREEMENT: agreements, SCALING: scaling}


def write(figure: plt.Figure, path: Path) -> None:
    """As text that can be searched, with its data as a description; the same bytes each time."""
    about = {"Date": None, "Description": json.dumps(DATA[path](), ensure_ascii=False)}
    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": path.name}):
        figure.savefig(path, metadata=about, facecolor="white")
    plt.close(figure)


if __name__ == "__main__":
    write(draw_perplexity(), PERPLEXITY)
    write(draw_agreement(), AGREEMENT)
    write(draw_scaling(), SCALING)
