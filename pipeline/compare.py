"""Models of several runs in one table, and a figure of what their training time buys."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pipeline import api, figures
from pipeline.console import markdown
from pipeline.families import families
from pipeline.finished import Finished
from pipeline.report import Column, comparison, test_splits

COLUMNS: list[Column] = [
    ("perplexity", "test", "perplexity", 1),
    ("bits/char", "test", "bits per character", 3),
    ("agreement", "suite", "accuracy", 3),
    ("parameters", "train", "parameters", 0),
    ("s to best epoch", "train", "seconds to the best epoch", 0),
    ("words/s scored", "one test", "words scored per second", 0),
]


def find_or_run(
    places: Sequence[str], *, set: Sequence[str] = (), seeds: int = 1, runs: Path
) -> list[Finished]:
    """The runs in these folders; what is no run's folder is a configuration, brought up to date."""
    found = []
    for place in places:
        folder = Path(place)
        if not (folder / "run.json").exists():
            folder = api.run(place, set=set, seeds=seeds, runs=runs).folder
        found.append(Finished.read(folder))
    return found


def gather(runs: Sequence[Finished]) -> pd.DataFrame:
    """The scores of all models with their protocols; one of a name that another has says its run.

    What two runs share, having made it from the same, is taken once.
    """
    names = [name for run in runs for name in run.artefacts]
    parts, taken = [], set()
    for run in runs:
        for name, folder in run.of_stage("evaluate").items():
            if folder in taken:
                continue
            taken.add(folder)
            rows = pd.read_parquet(folder / "scores.parquet")
            rows["model"] = f"{run.folder.name}/{name}" if names.count(name) > 1 else name
            rows["protocol"] = run.sections[name]["analyse"].protocol
            parts.append(rows)
    return pd.concat(parts, ignore_index=True)


def table(scores: pd.DataFrame) -> pd.DataFrame:
    """One row per family of models."""
    shown = comparison(scores, COLUMNS)
    protocol = scores.drop_duplicates("model").set_index("model")["protocol"]
    first = [models[0] for models in families(scores["model"].unique()).values()]
    shown.insert(1, "protocol", protocol[first].tolist())
    return shown


def write(scores: pd.DataFrame, shown: pd.DataFrame, folder: Path) -> None:
    """The table as Markdown and CSV, all figures behind it, and the figure of training time."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table.md").write_text(markdown(shown) + "\n")
    shown.to_csv(folder / "table.csv", index=False)
    scores.to_csv(folder / "scores.csv", index=False)
    drawn = figures.perplexity_against_time(scores, test_splits(scores)[0])
    figures.save(drawn, folder / "time")
