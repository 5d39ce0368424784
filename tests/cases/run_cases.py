"""What takes seconds of a run and is seldom what is tested, in a quicker way."""

import shutil
from pathlib import Path

import pandas as pd

from accord.pipeline.base.artefact import FinishedRun
from accord.pipeline.model.comparison import of_models
from accord.pipeline.run.pool import Pool


def scores_of(run: Path) -> pd.DataFrame:
    """The rows of `scores` of a run that stopped before its report, which draws figures."""
    return of_models(FinishedRun.read(run).of_stage("evaluate"))


def copy_prepared(run: Path, runs: Path) -> None:
    """Copy the artefacts of a run into another folder of runs, as if it were not trained yet."""
    done = shutil.ignore_patterns("train-*", "evaluate-*", "report-*")
    shutil.copytree(run.parent / "artefacts", runs / "artefacts", ignore=done)


class Here(Pool):
    """Tasks of this process: that others compute the same is what other tests show."""

    def __init__(self):
        super().__init__(1)
        self.called = 0

    def call(self, task):
        self.called += 1
        return task()
