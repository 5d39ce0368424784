"""What the report says of agreement: how each model judges each construction."""

import numpy as np
import pandas as pd

from accord.pipeline.display.seeds import by_seed, mean_and_spread
from accord.pipeline.evaluation.agreement import wilson

METRIC = "accuracy: "  # before the name of a construction
UNKNOWN = "pairs with unknown words: "


def constructions(scores: pd.DataFrame) -> pd.DataFrame:
    """The mean share that each model judges rightly, and the interval for so many pairs."""
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
            share = float(np.mean(shares))
            rows.append((shown, model, pairs, shares, share, *wilson(share * pairs, pairs)))
    columns = ["group", "model", "pairs", "shares", "share", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def table(found: pd.DataFrame) -> pd.DataFrame:
    """A row for each construction, a column for each model: mean ± spread over its seeds."""
    rows = []
    for name, of_models in found.groupby("group", sort=False):
        row = {"construction": name.replace("_", " "), "pairs": f"{of_models['pairs'].max():,}"}
        shown = of_models["shares"].map(lambda shares: mean_and_spread(shares, 3))
        rows.append(row | dict(zip(of_models["model"], shown, strict=True)))
    return pd.DataFrame(rows).fillna("–")
