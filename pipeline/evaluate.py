"""Stage `evaluate`: the trained model scores every split it was not trained on, and every suite."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from pipeline.agreement import measure_agreement, suites
from pipeline.measure import measure, test_splits, training_figures
from pipeline.progress import say
from pipeline.stage import Inputs, Stage
from pipeline.train import load_trained


@dataclass(frozen=True)
class Params:
    pass


def compute(params: Params, inputs: Inputs, out: Path) -> None:
    model = load_trained(inputs)
    figures = {"train": training_figures(model, inputs["train"] / "curve.csv")}
    for split in test_splits(inputs["encode"]):
        figures[split], log_p = measure(model, inputs, split)
        np.save(out / f"{split}.log_p.npy", log_p)
        say(f"evaluate: perplexity {figures[split]['perplexity']:.1f} on {split}")
    for suite in suites(inputs["encode"]):
        figures[suite], margins = measure_agreement(model, inputs, suite)
        np.save(out / f"{suite}.margins.npy", margins)
        say(
            f"evaluate: accuracy {figures[suite].get('accuracy', np.nan):.3f} on {suite}, "
            f"{figures[suite]['pairs judged per second']:,.0f} pairs a second"
        )
    rows = [
        {"split": split, "metric": metric, "value": value}
        for split, values in figures.items()
        for metric, value in values.items()
    ]
    pd.DataFrame(rows).to_parquet(out / "scores.parquet")


STAGE = Stage(
    name="evaluate",
    help="scores the validation and test sentences, and judges the agreement suites",
    inputs={
        "train": ("weights.safetensors", "recipe.json", "curve.csv"),
        "encode": (),
        "featurise": ("phi.npz",),
        "background": (),
    },
    outputs={
        "scores.parquet": "one row per split or suite and metric",
        "*.log_p.npy": "the log-probability of each word of each split, in nats",
        "*.margins.npy": "by how many nats the right sentence of each pair of a suite, and its "
        "critical word, is likelier",
    },
    params=Params,
    compute=compute,
)
