"""Stage `report`: all models' rows become tables, figures and one page, without scripts."""

from collections.abc import Mapping, Sequence
from datetime import date
from html import escape
from itertools import islice
from pathlib import Path

import pandas as pd

from accord.pipeline.ask.explain import SHOWN, Explainer, section
from accord.pipeline.ask.provenance import VERSION
from accord.pipeline.ask.scorer import BITS, Scorer
from accord.pipeline.base.arrow import open_table
from accord.pipeline.base.artefact import Artefact, Inputs
from accord.pipeline.base.figures import (
    agreement_dots,
    for_page,
    learning_curve,
    loss_curves,
    perplexity_bars,
    save,
)
from accord.pipeline.base.names import END, FACTORS
from accord.pipeline.base.tables import by_seed, html_page, html_table, markdown
from accord.pipeline.config.sections import ReportParams
from accord.pipeline.model import comparison
from accord.pipeline.model.comparison import (
    Compared,
    by_size,
    compare_models,
    comparison_table,
    headline,
    of_models,
    read_epochs,
    test_splits,
)
from accord.pipeline.model.folder import ModelFolder, open_folder
from accord.pipeline.stages.table import STAGES

REPORT = STAGES["report"]
Drawn = Mapping[str, Mapping[str, str]]  # figures by name, each by the width of a screen
REAL = (
    "Is it chance? Sentences of the test are drawn anew 10,000 times; a difference is real where "
    "95 % of the draws lie on one side of none. It tells nothing of another training."
)
CAPTIONS = {
    "perplexity": "Perplexity on the test sentences.",
    "learning": "Perplexity by the size of the training text; a cross is a seed.",
    "curves": "Loss on validation by epoch, spelling included; a ring marks the kept epoch.",
    "agreement": "Share of minimal pairs whose right sentence is likelier, by construction, with "
    "its 95 % interval. A tie counts one half.",
}


def compute(params: ReportParams, inputs: Inputs, out: Path) -> None:
    models = list(dict.fromkeys(label.rpartition("/")[0] for label in inputs))

    def of_stage(stage: str) -> dict[str, Path]:
        return {model: inputs[f"{model}/{stage}"] for model in models}

    scores = of_models(of_stage("evaluate"))
    curves = of_models(of_stage("train"), read_epochs)
    # The network's loss leaves out what the character model spells, which is the same each epoch.
    losses = scores.query("split == 'valid' and metric == 'nats per word'").set_index("model")
    best = curves.groupby("model")["valid_nats"].transform("min")
    curves["valid_nats"] += curves["model"].map(losses["value"]) - best
    coverage = of_models(of_stage("analyse"), lambda folder: pd.read_csv(folder / "coverage.csv"))
    table = comparison_table(scores)
    scores.to_parquet(out / "scores.parquet", index=False)
    scores.to_csv(out / "scores.csv", index=False)
    (out / "table.md").write_text(markdown(table) + "\n", encoding="utf-8")
    drawn = {"curves": loss_curves(curves), "perplexity": perplexity_bars(scores)}
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
    parts = [
        _comparison(scores, table, differing, svgs),
        _explained(inputs, models),
        "<h2>Where the words' analyses come from</h2>",
        html_table(_covered(coverage)),
        "<details><summary>How each was built and trained</summary>",
        html_table(_configuration(inputs, models)),
        f"</details>\n<p>Written by Accord {VERSION} on {date.today().isoformat()}. run.json "
        "beside this folder has the whole configuration.</p>",
    ]
    if len(agreement):
        judged = html_table(comparison.construction_table(agreement))
        parts.insert(1, f"<h2>Agreement</h2>\n{_figure(svgs, 'agreement')}\n{judged}")
    text = html_page(params.title, "\n".join(parts))
    (out / "index.html").write_text(text, encoding="utf-8")


def _comparison(
    scores: pd.DataFrame, table: pd.DataFrame, differing: Sequence[Compared], drawn: Drawn
) -> str:
    """Return the models side by side: the result in a sentence, the table, and its chance."""
    real = ""
    if differing:
        rows = [
            {"model": m.model, "against": m.against, "on": m.split} | m.difference.shown
            for m in differing
        ]
        real = f"<p>{REAL}</p>\n{html_table(pd.DataFrame(rows))}"
    figures = [_figure(drawn, name) for name in ("perplexity", "learning", "curves")]
    return f"""<p class="headline">{escape(headline(scores))}</p>
<p>{escape(_about(scores))}</p>
<h2>Comparison</h2>
{html_table(table)}
{figures[0]}
{real}
{"".join(figures[1:])}"""


def _covered(coverage: pd.DataFrame) -> pd.DataFrame:
    """Return the coverage table with shares, once where all models have the same."""
    share = coverage["tokens"] / coverage.groupby("model")["tokens"].transform("sum")
    shown = pd.DataFrame(
        {
            "model": coverage["model"],
            "answered by": coverage["source"],
            "known words": coverage["types"].map("{:,}".format),
            "training tokens": coverage["tokens"].map("{:,}".format),
            "share of tokens": share.map("{:.2%}".format),
        }
    )
    by_model = [part.drop(columns="model").values.tolist() for _, part in shown.groupby("model")]
    if all(part == by_model[0] for part in by_model):
        shown = shown[shown["model"] == shown["model"].iloc[0]].drop(columns="model")
    return shown


def _figure(drawn: Drawn, name: str) -> str:
    """Return a figure for wide and for narrow screens; the page shows one of them."""
    if name not in drawn:
        return ""
    caption, both = CAPTIONS[name], ""
    for width, text in drawn[name].items():
        svg = text[text.index("<svg") :].removeprefix("<svg")
        both += f'<div class="{width}"><svg role="img" aria-label="{caption}"{svg}</div>'
    return f"<figure>{both}<figcaption>{caption}</figcaption></figure>"


def _configuration(inputs: Inputs, models: Sequence[str]) -> pd.DataFrame:
    """Return a row for each key, a column for each model, its seeds together."""
    settings = {}
    for model, (seed, *_) in by_seed(models).items():
        params = {
            stage: Artefact.read(inputs[f"{seed}/{stage}"]).meta["params"] for stage in REPORT.shows
        }
        settings[model] = {
            f"{stage}.{key}": _value(value)
            for stage, section in params.items()
            for key, value in section.items()
        }
    return pd.DataFrame(settings).fillna("–").rename_axis("key").reset_index()


def _value(value: object) -> str:
    """Return a value as text: a dash for None, commas between several."""
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "–"
    return "–" if value is None else str(value)


def _explained(inputs: Inputs, models: list[str]) -> str:
    """Explain sentences by the last model whose output is a sum over features, if one is.

    The first model with the same words is shown too, if it is another one.
    """

    folders = {m: {stage: inputs[f"{m}/{stage}"] for stage in REPORT.inputs} for m in models}
    for model in reversed(models):
        folder = ModelFolder(folders[model]["train"])
        if folder.recipe.is_log_linear and not folder.subwords:  # which have no features
            analysed = folders[model]["analyse"]
            first = next(name for name in models if folders[name]["analyse"] == analysed)
            return _samples({name: folders[name] for name in (model, first)})
    return ""


def _about(scores: pd.DataFrame) -> str:
    """Return the sizes of the scored texts in a sentence."""
    values = scores.drop_duplicates(["split", "metric"]).set_index(["split", "metric"])["value"]
    return "; ".join(
        f"{split}: {values[split, 'words']:,.0f} words in {values[split, 'sentences']:,.0f} "
        f"sentences, {values[split, 'share of words unseen in training']:.1%} of them unseen in "
        f"training"
        for split in test_splits(scores)
    )


SAMPLES, SHORT = 3, range(5, 13)  # sentences that are explained, and their numbers of words


def _samples(models: Mapping[str, Inputs]) -> str:
    """Return the first short validation sentences as part of the report.

    The first model explains them; each other reads them too, word by word beside it.
    """
    model, *others = models
    explainer = Explainer(Scorer(open_folder(models[model]["train"])))
    words = open_table(models[model]["tokenise"] / "valid.arrow")["words"].to_pylist()
    knows = explainer.scorer.vocabulary.knows
    short = (sentence for sentence in words if len(sentence) in SHORT and knows(sentence))
    chosen = [*islice(short, SAMPLES)]
    explained = [explainer.sentence(words) for words in chosen]
    scorers = {name: Scorer(open_folder(models[name]["train"])) for name in others}
    scorers[model] = explainer.scorer
    tables = [_surprisals(words, scorers) for words in chosen] if others else []
    title = "<h2>Word by word</h2><p>Surprisal of the same sentences in bits.</p>"
    return f"""<h2>Why {escape(model)} chose a word</h2>
<p>Point at a word, tap it or reach it with the arrow keys. Its log-probability is the sum of a
background, what each of its features gave (form: the word's own; @notTop: that of all rarer words
together), a normaliser that all words share, and what spelling the word letter by letter adds. The
stronger the line under a word, the more it surprised the model.</p>
{section(explained)}
{title * bool(tables)}{"".join(tables)}"""


def _surprisals(words: Sequence[str], scorers: Mapping[str, Scorer]) -> str:
    """Return a table of a sentence: a row for each model, the surprisal of each word in bits."""
    rows = []
    for name, scorer in scorers.items():
        bits = -BITS * scorer.score_encoded(*scorer.encoded([words]))[0]
        rows.append([name, *map("{:.1f}".format, [*bits, bits.sum()])])
    return html_table(pd.DataFrame(rows, columns=["model", *words, SHOWN[END], "all"]))
