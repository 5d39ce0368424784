"""Scores of several models as rows and tables."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from accord.models.common.files import load_json
from accord.models.log import CURVE
from accord.pipeline.base.names import FIGURES
from accord.pipeline.base.tables import by_seed, mean_and_spread, without_seed
from accord.pipeline.data.encoded import read_sizes
from accord.pipeline.evaluation.agreement import wilson
from accord.pipeline.evaluation.metrics import METRICS, OF_START


def read_scores(evaluated: Path) -> pd.DataFrame:
    """One model's figures, as they were measured: split or suite, metric, value."""
    figures = load_json(evaluated / FIGURES, dict, finite=False)
    rows = [
        (split, metric, value)
        for split, values in figures.items()
        for metric, value in values.items()
    ]
    return pd.DataFrame(rows, columns=["split", "metric", "value"])


def read_epochs(trained: Path) -> pd.DataFrame:
    """One model's losses and speed by epoch."""
    return pd.read_csv(trained / CURVE)


def of_models(
    folders: Mapping[str, Path], read: Callable[[Path], pd.DataFrame] = read_scores
) -> pd.DataFrame:
    """The rows of every model, which the first column names."""
    parts = {model: read(folder) for model, folder in folders.items()}
    return pd.concat(parts, names=["model"]).reset_index(level="model").reset_index(drop=True)


def scores(run: str | Path) -> pd.DataFrame:
    """The rows of a finished run's report: model, split, metric, value."""
    return pd.read_parquet(Path(run) / "report" / "scores.parquet")


# A column of the comparison table: title, split (each test split, each source's part of one where
# there are several, each suite), metric, digits.
Column = tuple[str, str, str, int]
# Further figures that have a column.
OTHERS: list[Column] = [
    ("start's ppl", "start", OF_START, 1),
    ("agreement", "suite", "accuracy", 3),
    ("ties", "suite", "ties", 0),
    ("parameters", "train", "parameters", 0),
    ("words/s", "train", "words trained per second", 0),
    ("train s", "train", "seconds", 1),
]


def test_splits(scores: pd.DataFrame) -> list[str]:
    """Every split that is neither trained on nor used for early stopping, `test` first."""
    splits = [split for split in _judged(scores) if "/" not in split]
    return sorted(splits, key=lambda name: name != "test")


def _judged(scores: pd.DataFrame) -> list[str]:
    """Every test split, and every source's part of one: `test/orangesum`."""
    splits = scores["split"][scores["metric"] == "perplexity"].unique()
    return [split for split in splits if split.partition("/")[0] != "valid"]


def suites(scores: pd.DataFrame) -> list[str]:
    """Every agreement suite that was judged."""
    return list(scores["split"][scores["metric"] == "accuracy"].unique())


def columns() -> list[Column]:
    """Every metric that has a column, and further figures of a model."""
    found = [(name, part.about) for name, part in METRICS.parts().items() if "column" in part.about]
    of_tests = [
        (about["column"], kind, name, about.get("digits", 1))
        for name, about in found
        for kind in (("test", "part") if name == "perplexity" else ("test",))
    ]
    return [*of_tests, *OTHERS]


def comparison_table(scores: pd.DataFrame, chosen: Sequence[Column] | None = None) -> pd.DataFrame:
    """One row per model, its seeds together; a column per figure, one for each test split."""
    values = scores.set_index(["model", "split", "metric"])["value"]
    tests = test_splits(scores)
    parts = [split for split in _judged(scores) if split not in tests]
    splits = {
        "test": tests,
        "one test": tests[:1],
        "part": parts,
        "start": tests if (scores["metric"] == OF_START).any() else [],
        "suite": suites(scores),
        "train": ["train"],
    }
    rows = []
    for model, seeds in by_seed(scores["model"].unique()).items():
        row = {"model": model}
        for title, kind, metric, digits in chosen or columns():
            for split in splits[kind]:
                alone = len(splits[kind]) == 1 and kind != "part"
                name = title if alone else f"{title} ({split})"
                found = [values.get((seed, split, metric)) for seed in seeds]
                row[name] = mean_and_spread([each for each in found if each is not None], digits)
        rows.append(row)
    return pd.DataFrame(rows)


def headline(scores: pd.DataFrame) -> str:
    """The best model against the first, its seeds together, in a sentence; one alone has none."""
    (split, *_) = test_splits(scores)
    found = scores[(scores["split"] == split) & (scores["metric"] == "perplexity")]
    values = found.set_index("model")["value"]
    mean = {model: values[seeds].mean() for model, seeds in by_seed(values.index).items()}
    first, best = next(iter(mean), None), min(mean, key=mean.get, default=None)
    if len(mean) < 2:
        return ""
    if first == best:
        return f"No model has a lower perplexity on {split} than {first}: {mean[first]:,.1f}."
    lower = 1 - mean[best] / mean[first]
    return (
        f"{best}: perplexity {lower:.0%} lower than that of {first} on {split}, "
        f"{mean[best]:,.1f} against {mean[first]:,.1f}."
    )


METRIC = "accuracy: "  # before the name of a construction
TIES = "ties: "
UNKNOWN = "pairs with unknown words: "


def constructions(scores: pd.DataFrame) -> pd.DataFrame:
    """The mean share that each model judges rightly, its ties, and the interval of the share.

    Figures that were measured before ties were counted have none: NaN.
    """
    values = scores.set_index(["model", "split", "metric"])["value"]
    judged = scores[scores["metric"].str.startswith(METRIC)]
    rows = []
    for (suite, metric), of_models in judged.groupby(["split", "metric"], sort=False):
        name = metric.removeprefix(METRIC)
        shown = name if judged["split"].nunique() == 1 else f"{suite}: {name}"
        for model, seeds in by_seed(of_models["model"]).items():
            shares = [values[seed, suite, metric] for seed in seeds]
            pairs = int(values[seeds[0], suite, f"pairs: {name}"])
            pairs -= int(values[seeds[0], suite, UNKNOWN + name])
            ties = np.mean([values.get((seed, suite, TIES + name), np.nan) for seed in seeds])
            share = float(np.mean(shares))
            rows.append((shown, model, pairs, ties, shares, share, *wilson(share * pairs, pairs)))
    columns = ["group", "model", "pairs", "ties", "shares", "share", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def table(found: pd.DataFrame) -> pd.DataFrame:
    """A row for each construction, a column for each model: mean ± spread over its seeds.

    The last row has the ties of all constructions, each of which counts one half above.
    """
    rows = []
    for name, of_models in found.groupby("group", sort=False):
        row = {"construction": name.replace("_", " "), "pairs": f"{of_models['pairs'].max():,}"}
        shown = of_models["shares"].map(lambda shares: mean_and_spread(shares, 3))
        rows.append(row | dict(zip(of_models["model"], shown, strict=True)))
    if rows:
        ties = found.groupby("model")["ties"].sum(min_count=1)
        counted = {model: f"{count:,.0f}" for model, count in ties.dropna().items()}
        rows.append({"construction": "ties", "pairs": ""} | counted)
    return pd.DataFrame(rows).fillna("–")


def by_size(scores: pd.DataFrame, split: str, encoded: Mapping[str, Path]) -> pd.DataFrame:
    """The perplexity of every model with its kind and its training sentences.

    Models that are called alike but for a number, `adapted-300` and `adapted-3000`, are of one
    kind; there are no rows if no kind was trained on texts of different size.
    """
    rows = scores[(scores["split"] == split) & (scores["metric"] == "perplexity")]
    rows = rows.assign(
        kind=[re.sub(r"-\d+$", "", without_seed(model)) for model in rows["model"]],
        sentences=[read_sizes(encoded[model])["train"]["sentences"] for model in rows["model"]],
    )
    sizes = rows.groupby("kind")["sentences"].nunique()
    return rows[rows["kind"].isin(sizes[sizes > 1].index)]
