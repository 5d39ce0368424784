"""Runs in one table; significance."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from accord.models.common.files import write_whole
from accord.pipeline.compare.scored_models import (
    Scored,
    check_same_text,
    find,
    find_all,
    is_scored,
    named,
)
from accord.pipeline.display.figures import perplexity_against_time, save
from accord.pipeline.display.tables import by_seed, markdown, write_table
from accord.pipeline.evaluation.comparison import Column, comparison_table, of_models, test_splits
from accord.pipeline.evaluation.statistics import paired_bootstrap, sentence_losses
from accord.pipeline.runner.run import run

COLUMNS: list[Column] = [
    ("perplexity", "test", "perplexity", 1),
    ("bits/char", "test", "bits per character", 3),
    ("agreement", "suite", "accuracy", 3),
    ("ties", "suite", "ties", 0),
    ("parameters", "train", "parameters", 0),
    ("s to best epoch", "train", "seconds to the best epoch", 0),
    ("words/s scored", "one test", "words scored per second", 0),
]


def find_or_run(
    sources: Sequence[str], *, set: Sequence[str] = (), seeds: int = 1, runs: Path
) -> list[Scored]:
    """The models of these runs and sweeps; any other name is a configuration to run."""

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
    shown = comparison_table(scores, COLUMNS)
    protocol = scores.drop_duplicates("model").set_index("model")["protocol"]
    members = by_seed(scores["model"].unique()).values()
    shown.insert(1, "seeds", [len(models) for models in members])
    shown.insert(1, "protocol", [protocol[models[0]] for models in members])
    return shown


def write(scores: pd.DataFrame, shown: pd.DataFrame, folder: Path) -> None:
    """The table as Markdown and CSV, all figures behind it, and the figure of training time."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "table.md", f"{markdown(shown)}\n".encode())
    write_table(shown, folder / "table.csv")
    write_table(scores, folder / "scores.csv")
    save(perplexity_against_time(scores, test_splits(scores)[0]), folder / "time")


def compare(run: Path, against: str | None = None) -> pd.DataFrame:
    """Every model of a finished run against one of them, the first if none is named.

    The seeds of a model are taken together, by their mean losses.
    """
    models = {model.name: model for model in find(str(run))}
    check_same_text([*models.values()])
    seeds = {name: [models[each] for each in found] for name, found in by_seed(models).items()}
    first = against or next(iter(seeds))
    if first not in seeds:
        raise ValueError(f"{run}: expected one of the models {', '.join(seeds)}, got {first}")
    rows = []
    for name, (model, *_) in seeds.items():
        for split in model.splits:
            if split == "valid":
                continue
            lengths = model.sentences(split).lengths
            losses, other = (
                sentence_losses([model.log_p(split) for model in seeds[each]], lengths)
                for each in (name, first)
            )
            perplexity = np.exp(losses.sum() / lengths.sum())
            rows.append({"model": name, "split": split, "perplexity": f"{perplexity:,.1f}"})
            if name != first:
                rows[-1] |= paired_bootstrap(losses - other, lengths).shown
    return pd.DataFrame(rows).fillna("–")
