"""What the command line does, for Python: run a configuration, export a model."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pipeline.config.configuration import Config, load_config
from pipeline.data.fetch import fetch
from pipeline.data.folders import MissingData
from pipeline.display.seeds import with_seeds
from pipeline.evaluation.score_rows import of_models, read_epochs
from pipeline.runner import pack as packing
from pipeline.runner.run import Run
from pipeline.sharing import export as exporting
from pipeline.sharing.exported import open_parts
from pipeline.sharing.ngrams import Conversion, export_ngrams, is_ngram_file
from pipeline.stages.order import EXPORTED, above, check_names
from pipeline.trained.resolve import RUNS, FinishedRun, one
from pipeline.trained.start import start_folder


def run(
    config: str = "default",
    *,
    set: Mapping[str, Any] | Sequence[str] = (),
    models: Sequence[str] = (),
    name: str | None = None,
    seeds: int = 1,
    until: str | None = None,
    force: Sequence[str] = (),
    runs: str | Path = RUNS,
) -> Run:
    """Bring every stage of a preset or configuration file up to date.

    `set` overrides single keys, `{"corpus.limit": 100}`, or one of one model,
    `{"ll-rnn.train.hidden": 64}`. `models` names those that are run, if not all; `name` the folder
    of the run, if it is not to be the configuration's. Each model is trained with so many seeds.
    """
    overrides = _overrides(set) if isinstance(set, Mapping) else set
    loaded = load_config(config, overrides, models, name)
    expanded = replace(loaded, models=with_seeds(loaded.models, seeds))
    return run_config(expanded, until=until, force=force, runs=runs)


def _overrides(values: Mapping[str, Any]) -> list[str]:
    """As on the command line, where a value is YAML, which all JSON is; text stays what it is."""
    return [
        f"{key}={value if isinstance(value, str) else _as_json(value)}"
        for key, value in values.items()
    ]


def _as_json(value: Any) -> str:
    """With numpy's numbers as Python's, and paths as text."""
    return json.dumps(
        value,
        ensure_ascii=False,
        default=lambda other: other.item() if isinstance(other, np.generic) else str(other),
    )


def run_config(
    config: Config,
    *,
    until: str | None = None,
    force: Sequence[str] = (),
    runs: str | Path = RUNS,
) -> Run:
    """Bring every stage of a configuration up to date, fetching the data it names."""
    check_names([*force, *([until] if until else [])])
    this = Run(config, Path(runs))
    this.check()
    for start in {sections["train"].start for sections in config.models.values()} - {None}:
        open_parts(one(start_folder(start)))
    _fetch_missing(this, until)
    this.execute(until, frozenset(force))
    return this


def _fetch_missing(this: Run, until: str | None) -> None:
    """Fetch what the stages to be run name and the data folders lack."""
    for model, stage in this.steps(until):
        while True:
            try:
                stage.files(this.params(model, stage))
                break
            except MissingData as missing:
                fetch(missing.source)


def pack(
    config: str,
    folder: Path,
    *,
    set: Sequence[str] = (),
    models: Sequence[str] = (),
    name: str | None = None,
    seeds: int = 1,
    runs: str | Path = RUNS,
) -> dict[str, dict]:
    """Prepare the models of a configuration and copy what their training reads into a folder."""
    until = above("train")[-1]
    this = run(config, set=set, models=models, name=name, seeds=seeds, until=until, runs=runs)
    return packing.pack(this, folder)


def unpack(folder: Path, *, runs: str | Path = RUNS) -> list[str]:
    """Put the models trained in a packed folder where `run` finds them; returns their names."""
    return packing.unpack(folder, Path(runs))


def export(
    run: str | Path,
    model: str,
    to: str | Path,
    compact: bool = False,
    *,
    order: int | None = None,
    samples: int | None = None,
    prune: float | None = None,
    states: int | None = None,
) -> Path:
    """Write a trained model of a finished run into one folder that `load` takes anywhere.

    With `compact`, in few bytes: weights in half precision or int8, all else packed. To a file that
    ends in `.arpa`, `.arpa.gz` or `.fst.txt` it is written as n-grams, or with `states` as an
    automaton of its hidden states: `order`, `samples` and `prune` say how too
    (pipeline.sharing.ngrams.Conversion).
    """
    found, to = one(run, model), Path(to)
    found.check(*above("evaluate"), "evaluate")
    artefacts = found.folders
    how = Conversion(order, samples, prune, states)
    if is_ngram_file(to):
        if compact:
            raise ValueError(f"{to}: expected a folder for a compact model, got a file of n-grams")
        return export_ngrams(artefacts, to, how)
    if how != Conversion():
        raise ValueError(
            f"{to}: expected a file .arpa, .arpa.gz or .fst.txt, as --order, --samples, --prune "
            f"and --states are of n-grams and automata"
        )
    return exporting.export(artefacts, to, EXPORTED, compact)


def scores(run: str | Path) -> pd.DataFrame:
    """The rows of a finished run's report: model, split, metric, value."""
    return pd.read_parquet(Path(run) / "report" / "scores.parquet")


def curves(run: str | Path) -> pd.DataFrame:
    """Losses by epoch of every trained model of a run."""
    return of_models(FinishedRun.read(Path(run)).of_stage("train"), read_epochs)
