"""Stage `report`: all models' rows become tables, figures and one page."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pandas as pd

from models.spelling.subwords import SPELLER, count_subwords
from pipeline.artefacts.artefact import Artefact
from pipeline.display import page
from pipeline.display.progress import say
from pipeline.display.seeds import by_seed, mean_and_spread
from pipeline.display.tables import markdown
from pipeline.evaluation.bootstrap import differences
from pipeline.evaluation.measure import FIGURES, OF_START
from pipeline.evaluation.metrics import METRICS
from pipeline.evaluation.report import by_construction, by_size
from pipeline.evaluation.score_rows import of_models, read_epochs
from pipeline.prepared.encoded import SIZES
from pipeline.stage import Inputs, Stage

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

INPUTS = {
    "evaluate": (FIGURES, "*.log_p.npy"),
    "train": ("curve.csv", "recipe.json", "weights.safetensors"),
    "analyse": ("coverage.csv", "types.parquet"),
    # What a model is loaded from, and the sentences that it explains.
    "featurise": (),
    "background": (),
    "encode": ("train.ids.npy", "*.lengths.npy", SPELLER, SIZES),
    "tokenise": ("valid.arrow",),
}

# Whose configuration the page shows.
SHOWN = ("tokenise", "analyse", "featurise", "background", "encode", "train", "evaluate")


@dataclass(frozen=True)
class Params:
    title: str = "Accord"  # of the page


def compute(params: Params, inputs: Inputs, out: Path) -> None:
    from pipeline.display import figures, figures_learning

    models = list(dict.fromkeys(label.rpartition("/")[0] for label in inputs))

    def of_stage(stage: str) -> dict[str, Path]:
        return {model: inputs[f"{model}/{stage}"] for model in models}

    scores = of_models(of_stage("evaluate"))
    curves = of_models(of_stage("train"), read_epochs)
    coverage = of_models(of_stage("analyse"), lambda folder: pd.read_csv(folder / "coverage.csv"))
    table = comparison(scores)
    scores.to_parquet(out / "scores.parquet", index=False)
    scores.to_csv(out / "scores.csv", index=False)
    (out / "table.md").write_text(markdown(table) + "\n", encoding="utf-8")
    drawn = {
        "curves": figures.loss_curves(curves),
        "perplexity": figures.perplexity_bars(scores),
    }
    agreement = by_construction.constructions(scores)
    if len(agreement):
        drawn["agreement"] = figures.agreement_dots(agreement)
    sizes = by_size.by_size(scores, test_splits(scores)[0], of_stage("encode"))
    if len(sizes):
        drawn["learning"] = figures_learning.learning_curve(sizes, "perplexity")
    for name, figure in drawn.items():
        figures.save(figure, out / name)
    svgs = {name: figures.for_page(figure) for name, figure in drawn.items()}
    differ = differences(of_stage("evaluate"), of_stage("encode"), test_splits(scores))
    parts = [
        page.comparison(headline(scores), _about(scores), table, differ, svgs),
        page.agreement(by_construction.table(agreement), svgs),
        _explained(inputs, models),
        page.coverage(coverage),
        page.configuration(_configuration(inputs, models), _made()),
    ]
    text = page.document(params.title, "\n".join(parts))
    (out / "index.html").write_text(text, encoding="utf-8")
    say("report: written")


def _configuration(inputs: Inputs, models: Sequence[str]) -> pd.DataFrame:
    """A row for each key, a column for each model, its seeds together."""
    read = {}
    for family, (model, *_) in by_seed(models).items():
        params = {
            stage: Artefact.read(inputs[f"{model}/{stage}"]).meta["params"] for stage in SHOWN
        }
        read[family] = {
            f"{stage}.{key}": _value(value)
            for stage, own in params.items()
            for key, value in own.items()
        }
    return pd.DataFrame(read).fillna("–").rename_axis("key").reset_index()


def _value(value: object) -> str:
    """As it would be said: nothing as a dash, several with commas."""
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "–"
    return "–" if value is None else str(value)


def _made() -> str:
    """Which Accord wrote the page, and when."""
    try:
        written = f"Accord {version('accord-lm')}"
    except PackageNotFoundError:  # from a checkout that is not installed
        written = "Accord"
    return f"Written by {written} on {date.today().isoformat()}."


def _explained(inputs: Inputs, models: list[str]) -> str:
    """Sentences explained by the last model whose output is a sum over features, if one is.

    Beside it stands the first that has the same words, if it is another one.
    """
    from pipeline.inference import explain_page

    def of_model(model: str) -> Inputs:
        return {each: inputs[f"{model}/{each}"] for each in INPUTS}

    for model in reversed(models):
        recipe = json.loads((inputs[f"{model}/train"] / "recipe.json").read_text())
        of_units = count_subwords(inputs[f"{model}/encode"])  # which have no features
        if recipe["output"] == "log-linear" and not of_units:
            same = [
                each for each in models if of_model(each)["analyse"] == of_model(model)["analyse"]
            ]
            first = {same[0]: of_model(same[0])} if same[0] != model else {}
            return explain_page.samples({model: of_model(model), **first})
    return ""


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
    for family, models in by_seed(scores["model"].unique()).items():
        row = {"model": family}
        for title, kind, metric, digits in chosen or columns():
            for split in splits[kind]:
                alone = len(splits[kind]) == 1 and kind != "part"
                name = title if alone else f"{title} ({split})"
                found = [values.get((model, split, metric)) for model in models]
                row[name] = mean_and_spread([each for each in found if each is not None], digits)
        rows.append(row)
    return pd.DataFrame(rows)


def headline(scores: pd.DataFrame) -> str:
    """The best model against the first, its seeds together, in a sentence; one alone has none."""
    (split, *_) = test_splits(scores)
    found = scores[(scores["split"] == split) & (scores["metric"] == "perplexity")]
    values = found.set_index("model")["value"]
    mean = {family: values[models].mean() for family, models in by_seed(values.index).items()}
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


def _about(scores: pd.DataFrame) -> str:
    """What was scored, in a sentence."""
    values = scores.drop_duplicates(["split", "metric"]).set_index(["split", "metric"])["value"]
    return "; ".join(
        f"{split}: {values[split, 'words']:,.0f} words in {values[split, 'sentences']:,.0f} "
        f"sentences, {values[split, 'share of words unseen in training']:.1%} of them unseen in "
        f"training"
        for split in test_splits(scores)
    )


STAGE = Stage(
    name="report",
    help="gathers tables, figures and one page",
    inputs=INPUTS,
    outputs={
        "index.html": "the page, self-contained",
        "table.md": "the comparison table",
        "scores.parquet": "one row per model, split and metric",
        "scores.csv": "the same as text",
        "*.png": "the figures, as .svg too",
    },
    params=Params,
    compute=compute,
    over_models=True,
)
