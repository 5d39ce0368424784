"""What takes seconds of a run and is seldom what is tested, in a quicker way."""

from pathlib import Path

import pandas as pd

from accord.pipeline.base.artefact import FinishedRun
from accord.pipeline.evaluation.comparison import of_models
from accord.pipeline.model.find import read_jobs
from accord.pipeline.run.sweep import train_and_measure


def train_packed(folder: Path) -> None:
    """Train and measure every model of a packed folder here; a sweep starts a process for each."""
    for name in read_jobs(folder):
        train_and_measure(folder, name)


def scores_of(run: Path) -> pd.DataFrame:
    """The rows of `scores` of a run that stopped before its report, which draws figures."""
    return of_models(FinishedRun.read(run).of_stage("evaluate"))
