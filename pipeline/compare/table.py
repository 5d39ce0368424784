"""Models of several runs in one table, and a figure of what their training time buys."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from accord.pipeline.compare.scored_models import Scored, find_all, is_scored, named
from accord.pipeline.display.drawing import save
from accord.pipeline.display.figures import perplexity_against_time
from accord.pipeline.display.seeds import by_seed
from accord.pipeline.display.tables import markdown
from accord.pipeline.evaluation.report.comparison import Column, comparison, test_splits
from accord.pipeline.evaluation.score_rows import of_models
from accord.pipeline.runner.run import run

COLUMNS: list[Column] = [
    ("perplexity", "test", "perplexity", 1),
    ("bits/char", "test", "bits per character", 3),
    ("agreement", "suite", "accuracy", 3),
    ("parameters", "train", "parameters", 0),
    ("s to best epoch", "train", "seconds to the best epoch", 0),
    ("words/s scored", "one test", "words scored per second", 0),
]


def find_or_run(
    sources: Sequence[str], *, set: Sequence[str] = (), seeds: int = 1, runs: Path
) -> list[Scored]:
    """The models of these runs and sweeps; what is neither is a configuration to be run."""

    def made(source: str) -> str:
        is_folder = "/" in source and not source.endswith((".yaml", ".yml"))
        if is_folder or is_scored(source):
            return source
        return str(run(source, set=set, seeds=seeds, runs=runs).folder)

    return find_all(map(made, sources))


def gather(models: Sequence[Scored]) -> pd.DataFrame:
    """The scores of all models with their protocols; where two share a name, it says the run."""
    shown = named(models)
    scores = of_models({name: model.scores for name, model in shown.items()})
    scores["protocol"] = [shown[name].protocol for name in scores["model"]]
    return scores


def table(scores: pd.DataFrame) -> pd.DataFrame:
    """One row per model, its seeds together."""
    shown = comparison(scores, COLUMNS)
    protocol = scores.drop_duplicates("model").set_index("model")["protocol"]
    members = by_seed(scores["model"].unique()).values()
    shown.insert(1, "seeds", [len(models) for models in members])
    shown.insert(1, "protocol", [protocol[models[0]] for models in members])
    return shown


def write(scores: pd.DataFrame, shown: pd.DataFrame, folder: Path) -> None:
    """The table as Markdown and CSV, all figures behind it, and the figure of training time."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table.md").write_text(markdown(shown) + "\n", encoding="utf-8")
    shown.to_csv(folder / "table.csv", index=False)
    scores.to_csv(folder / "scores.csv", index=False)
    save(perplexity_against_time(scores, test_splits(scores)[0]), folder / "time")
