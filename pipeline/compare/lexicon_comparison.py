"""Models that differ in their lexicon alone, trained and set side by side."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from accord.pipeline.config.configuration import Config, load_config
from accord.pipeline.data.folders import MissingData, folder_of
from accord.pipeline.evaluation.report.comparison import comparison
from accord.pipeline.evaluation.score_rows import scores
from accord.pipeline.evaluation.suite import CLAMS
from accord.pipeline.runner.run import run_config


def compare_lexicons(
    source: str, chains: Sequence[str], overrides: Sequence[str], runs: Path
) -> tuple[pd.DataFrame, Path]:
    """The last model of a configuration, trained once with each chain of lexicons.

    Where CLAMS is here, each is asked it.
    """
    config = load_config(source, overrides)
    sections = config.models[[*config.models][-1]]
    suites = sections["analyse"].suites or _present(CLAMS)
    models = {}
    for chain in chains:
        analyse = replace(sections["analyse"], lexicon=tuple(chain.split(",")), suites=suites)
        models[chain.replace(",", "+")] = {**sections, "analyse": analyse}
    compared = Config(f"{config.name}-lexicons", config.sections, models)
    finished = run_config(compared, runs=runs)
    table = comparison(scores(finished.folder))
    table.insert(1, "covered", [_covered(finished.artefacts[m, "analyse"].folder) for m in models])
    return table, finished.folder


def _present(source: str) -> tuple[str, ...]:
    """The source, if its data is here."""
    try:
        folder_of(source)
    except MissingData:
        return ()
    return (source,)


def _covered(folder: Path) -> str:
    """Share of training tokens that a lexicon knows, the guesser left out."""
    coverage = pd.read_csv(folder / "coverage.csv")
    known = ~coverage["source"].isin(["guesser", "nothing"])
    return f"{coverage['tokens'][known].sum() / coverage['tokens'].sum():.2%}"
