"""What the command line does, for Python: run a configuration, load a trained model, score."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.config import load_config
from pipeline.data import MissingData
from pipeline.fetch import fetch
from pipeline.runner import WHOLE_RUN, Run
from pipeline.scorer import Scorer
from pipeline.stages import STAGES
from pipeline.store import read_json

RUNS = "runs"


def run(
    config: str = "default",
    *,
    set: Mapping[str, Any] | Sequence[str] = (),
    until: str | None = None,
    force: Sequence[str] = (),
    runs: str | Path = RUNS,
) -> Run:
    """Bring every stage of a preset or configuration file up to date.

    `set` overrides single keys: `{"corpus.limit": 100}`.
    """
    overrides = [f"{key}={value}" for key, value in set.items()] if isinstance(set, dict) else set
    this = Run(load_config(config, overrides), Path(runs))
    _fetch_missing(this)
    this.execute(until, frozenset(force))
    return this


def _fetch_missing(this: Run) -> None:
    """Fetch what the configuration names and the data folders lack."""
    for sections in this.config.models.values():
        for stage in STAGES.values():
            while True:
                try:
                    stage.files(sections[stage.name])
                    break
                except MissingData as missing:
                    fetch(missing.source)


def load(run: str | Path, model: str | None = None) -> Scorer:
    """A trained model of a finished run, by name where the run has several."""
    folder = Path(run)
    manifest = folder / "run.json"
    if not manifest.exists():
        raise FileNotFoundError(f"{folder} is no run: expected {manifest}. `accord run` makes one.")
    models = {name: s for name, s in read_json(manifest)["models"].items() if name != WHOLE_RUN}
    trained = [name for name, stages in models.items() if "train" in stages]
    if model is None and len(trained) == 1:
        model = trained[0]
    if model not in trained:
        raise ValueError(f"{folder}: expected one of the models {', '.join(trained)}, got {model}")
    store = folder.parent / "artefacts"
    return Scorer({stage: store / name for stage, name in models[model].items()})


def scores(run: str | Path) -> pd.DataFrame:
    """The rows of a finished run's report: model, split, metric, value."""
    return pd.read_parquet(Path(run) / "report" / "scores.parquet")
