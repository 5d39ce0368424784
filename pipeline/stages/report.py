"""Stage `report`: all models' rows become tables, figures and one page."""

from collections.abc import Sequence
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pandas as pd

from accord.models.common.files import load_json
from accord.models.recipe import Recipe
from accord.models.spelling.subwords import count_subwords
from accord.pipeline.ask import explain_page
from accord.pipeline.base import report_page
from accord.pipeline.base.artefact import Artefact, Inputs
from accord.pipeline.base.figures import (
    agreement_dots,
    for_page,
    learning_curve,
    loss_curves,
    perplexity_bars,
    save,
)
from accord.pipeline.base.messages import say
from accord.pipeline.base.names import FACTORS, RECIPE
from accord.pipeline.base.tables import by_seed, markdown
from accord.pipeline.evaluation import comparison
from accord.pipeline.evaluation.comparison import (
    by_size,
    compare_models,
    comparison_table,
    headline,
    of_models,
    read_epochs,
    test_splits,
)
from accord.pipeline.sections import ReportParams
from accord.pipeline.stages.table import STAGES

REPORT = STAGES["report"]


def compute(params: ReportParams, inputs: Inputs, out: Path) -> None:
    models = list(dict.fromkeys(label.rpartition("/")[0] for label in inputs))

    def of_stage(stage: str) -> dict[str, Path]:
        return {model: inputs[f"{model}/{stage}"] for model in models}

    scores = of_models(of_stage("evaluate"))
    curves = of_models(of_stage("train"), read_epochs)
    coverage = of_models(of_stage("analyse"), lambda folder: pd.read_csv(folder / "coverage.csv"))
    table = comparison_table(scores)
    scores.to_parquet(out / "scores.parquet", index=False)
    scores.to_csv(out / "scores.csv", index=False)
    (out / "table.md").write_text(markdown(table) + "\n", encoding="utf-8")
    drawn = {
        "curves": loss_curves(curves),
        "perplexity": perplexity_bars(scores),
    }
    agreement = comparison.constructions(scores)
    if len(agreement):
        drawn["agreement"] = agreement_dots(agreement)
    sizes = by_size(scores, test_splits(scores)[0], of_stage("encode"))
    if len(sizes):
        drawn["learning"] = learning_curve(sizes, "perplexity")
    for name, figure in drawn.items():
        save(figure, out / name)
    svgs = {name: for_page(figure) for name, figure in drawn.items()}
    compared = compare_models(of_stage("evaluate"), of_stage("encode"), test_splits(scores))
    differing = [model for model in compared if model.difference]
    factors = "".join(f"{model.factor}\n" for model in differing)
    (out / FACTORS).write_text(factors, encoding="utf-8")
    differ = pd.DataFrame(
        [
            {"model": model.model, "against": model.against, "on": model.split}
            | model.difference.shown
            for model in differing
        ]
    )
    parts = [
        report_page.comparison(headline(scores), _about(scores), table, differ, svgs),
        report_page.agreement(comparison.construction_table(agreement), svgs),
        _explained(inputs, models),
        report_page.coverage(coverage),
        report_page.configuration(_configuration(inputs, models), _made()),
    ]
    text = report_page.document(params.title, "\n".join(parts))
    (out / "index.html").write_text(text, encoding="utf-8")
    say("report: written")


def _configuration(inputs: Inputs, models: Sequence[str]) -> pd.DataFrame:
    """A row for each key, a column for each model, its seeds together."""
    read = {}
    for model, (seed, *_) in by_seed(models).items():
        params = {
            stage: Artefact.read(inputs[f"{seed}/{stage}"]).meta["params"] for stage in REPORT.shows
        }
        read[model] = {
            f"{stage}.{key}": _value(value)
            for stage, own in params.items()
            for key, value in own.items()
        }
    return pd.DataFrame(read).fillna("–").rename_axis("key").reset_index()


def _value(value: object) -> str:
    """A value as text: a dash for None, commas between several."""
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

    def of_model(model: str) -> Inputs:
        return {each: inputs[f"{model}/{each}"] for each in REPORT.inputs}

    for model in reversed(models):
        recipe = Recipe.read(load_json(inputs[f"{model}/train"] / RECIPE, dict))
        of_subwords = count_subwords(inputs[f"{model}/encode"])  # which have no features
        if recipe.is_log_linear and not of_subwords:
            same = [
                each for each in models if of_model(each)["analyse"] == of_model(model)["analyse"]
            ]
            first = {same[0]: of_model(same[0])} if same[0] != model else {}
            return explain_page.samples({model: of_model(model), **first})
    return ""


def _about(scores: pd.DataFrame) -> str:
    """What was scored, in a sentence."""
    values = scores.drop_duplicates(["split", "metric"]).set_index(["split", "metric"])["value"]
    return "; ".join(
        f"{split}: {values[split, 'words']:,.0f} words in {values[split, 'sentences']:,.0f} "
        f"sentences, {values[split, 'share of words unseen in training']:.1%} of them unseen in "
        f"training"
        for split in test_splits(scores)
    )
