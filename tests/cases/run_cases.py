"""What takes seconds of a run and is seldom what is tested, in a quicker way."""

from pathlib import Path

import pandas as pd

from accord.pipeline.base.artefact import FinishedRun
from accord.pipeline.evaluation.comparison import of_models


def scores_of(run: Path) -> pd.DataFrame:
    """The rows of `scores` of a run that stopped before its report, which draws figures."""
    return of_models(FinishedRun.read(run).of_stage("evaluate"))
