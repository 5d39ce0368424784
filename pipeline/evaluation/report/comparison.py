"""Models side by side: one row for each, and in a sentence which of them is best."""

from collections.abc import Sequence

import pandas as pd

from accord.pipeline.display.seeds import by_seed, mean_and_spread
from accord.pipeline.evaluation.measure import OF_START
from accord.pipeline.evaluation.metrics import METRICS

# A column of the comparison table: title, split (each test split, each source's part of one where
# there are several, each suite), metric, digits.
Column = tuple[str, str, str, int]
# Those beside the metrics that have a column.
OTHERS: list[Column] = [
    ("start's ppl", "start", OF_START, 1),
    ("agreement", "suite", "accuracy", 3),
    ("parameters", "train", "parameters", 0),
    ("words/s", "train", "words trained per second", 0),
    ("train s", "train", "seconds", 1),
]


def test_splits(scores: pd.DataFrame) -> list[str]:
    """Every split that is neither trained on nor used for early stopping, `test` first."""
    splits = [split for split in _judged(scores) if "/" not in split]
    return sorted(splits, key=lambda name: name != "test")


def _judged(scores: pd.DataFrame) -> list[str]:
    """Every test split, and every source's part of one: `test/orangesum`."""
    splits = scores["split"][scores["metric"] == "perplexity"].unique()
    return [split for split in splits if split.partition("/")[0] != "valid"]


def suites(scores: pd.DataFrame) -> list[str]:
    """Every agreement suite that was judged."""
    return list(scores["split"][scores["metric"] == "accuracy"].unique())


def columns() -> list[Column]:
    """Every metric that has a column, and what is known of a model besides."""
    found = [(name, part.about) for name, part in METRICS.parts().items() if "column" in part.about]
    of_tests = [
        (about["column"], kind, name, about.get("digits", 1))
        for name, about in found
        for kind in (("test", "part") if name == "perplexity" else ("test",))
    ]
    return [*of_tests, *OTHERS]


def comparison(scores: pd.DataFrame, chosen: Sequence[Column] | None = None) -> pd.DataFrame:
    """One row per model, its seeds together; a column per figure, one for each test split."""
    values = scores.set_index(["model", "split", "metric"])["value"]
    tests = test_splits(scores)
    parts = [split for split in _judged(scores) if split not in tests]
    splits = {
        "test": tests,
        "one test": tests[:1],
        "part": parts,
        "start": tests if (scores["metric"] == OF_START).any() else [],
        "suite": suites(scores),
        "train": ["train"],
    }
    rows = []
    for model, seeds in by_seed(scores["model"].unique()).items():
        row = {"model": model}
        for title, kind, metric, digits in chosen or columns():
            for split in splits[kind]:
                alone = len(splits[kind]) == 1 and kind != "part"
                name = title if alone else f"{title} ({split})"
                found = [values.get((seed, split, metric)) for seed in seeds]
                row[name] = mean_and_spread([each for each in found if each is not None], digits)
        rows.append(row)
    return pd.DataFrame(rows)


def headline(scores: pd.DataFrame) -> str:
    """The best model against the first, its seeds together, in a sentence; one alone has none."""
    (split, *_) = test_splits(scores)
    found = scores[(scores["split"] == split) & (scores["metric"] == "perplexity")]
    values = found.set_index("model")["value"]
    mean = {model: values[seeds].mean() for model, seeds in by_seed(values.index).items()}
    first, best = next(iter(mean), None), min(mean, key=mean.get, default=None)
    if len(mean) < 2:
        return ""
    if first == best:
        return f"No model has a lower perplexity on {split} than {first}: {mean[first]:,.1f}."
    lower = 1 - mean[best] / mean[first]
    return (
        f"{best}: perplexity {lower:.0%} lower than that of {first} on {split}, "
        f"{mean[best]:,.1f} against {mean[first]:,.1f}."
    )
