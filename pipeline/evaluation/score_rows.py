"""The figures of models as rows: model, split, metric, value."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from accord.models.training.curve import CURVE
from accord.pipeline.artefacts.artefact import FinishedRun
from accord.pipeline.artefacts.model_files import FIGURES


def read_scores(evaluated: Path) -> pd.DataFrame:
    """One model's figures, as they were measured: split or suite, metric, value."""
    figures = json.loads((evaluated / FIGURES).read_text(encoding="utf-8"))
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


def curves(run: str | Path) -> pd.DataFrame:
    """Losses by epoch of every trained model of a run."""
    return of_models(FinishedRun.read(Path(run)).of_stage("train"), read_epochs)
