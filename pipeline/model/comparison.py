"""Models of runs that scored their splits: their scores as tables, and which differences are real.

The paired bootstrap draws the sentences of a test anew with replacement, the same for two models.
With d(s) the difference of their losses on sentence s and n(s) its words, each draw has a mean
Σ d(s) / Σ n(s). 95 % of these show how far another test of the same kind would move the difference.
They do not show the effect of another training: for that, train with other seeds.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from accord.errors import AccordError, NotFoundError
from accord.models.common.arrays import load_array
from accord.models.common.files import CURVE, load_json
from accord.models.data import Sentences
from accord.pipeline.base.messages import short_names
from accord.pipeline.base.names import FIGURES, UNKNOWN_ID
from accord.pipeline.base.tables import by_seed, mean_and_spread, without_seed
from accord.pipeline.data.encoded import (
    held_out,
    is_same_text,
    read_forms,
    read_sentences,
    read_sizes,
)
from accord.pipeline.model import find as resolve
from accord.pipeline.model.find import TrainedModel
from accord.pipeline.model.folder import ModelFolder, open_folder
from accord.pipeline.model.metrics import METRICS, OF_START, wilson


@dataclass(frozen=True)
class Scored(TrainedModel):
    """A trained model that has scored its splits."""

    shown_in: Path | None = None  # the first run that has seeds of this model

    @property
    def splits(self) -> list[str]:
        """Return every test, `test` first, and validation."""
        return sorted(held_out(self.folders["encode"]), key=lambda split: split != "test")

    def log_p(self, split: str) -> np.ndarray:
        """Read log p of every word and end of a split, in nats."""
        return load_array(self.scores / f"{split}.log_p.npy").astype(np.float64)

    def sentences(self, split: str) -> Sentences:
        return read_sentences(self.folders["encode"], split)

    def distinguished(self, split: str) -> Sentences:
        """Read sentences with a distinct number for each word spelled by the character model."""
        sentences = self.sentences(split)
        words = self.opened.words
        if not words.unknown:
            return sentences
        is_spelled = np.isin(sentences.ids, range(UNKNOWN_ID, UNKNOWN_ID + len(words.unknown)))
        numbers = len(words) + read_forms(self.folders["encode"], split).positions
        return Sentences(np.where(is_spelled, numbers, sentences.ids), sentences.lengths)

    @property
    def words(self) -> int:
        """Return the size of the vocabulary."""
        return len(self.opened.words)

    @cached_property
    def opened(self) -> ModelFolder:
        return open_folder(self.folder)


def find(name: str) -> list[Scored]:
    """Return the model RUN/MODEL, or all models of the folder RUN."""
    models = resolve.find(name)
    for model in models:
        if model.kind != "run":
            raise NotFoundError(
                f"{name} is no run: expected one, or RUN/MODEL, whose models have scored their "
                f"splits; got a name of the kind {model.kind}"
            )
        model.check("evaluate")
    return [Scored(**vars(model), shown_in=model.place) for model in models]


def find_all(sources: Iterable[str]) -> list[Scored]:
    """Find the models of all sources; a model that two runs share counts once."""
    scored: dict[Path, Scored] = {}
    for source in sources:
        models = find(source)
        for model in models:
            name = without_seed(model.name)
            shown = {(known.shown_in, known.name) for known in scored.values()}
            seeds = [seed.scores for seed in models if without_seed(seed.name) == name]
            first = (
                known.shown_in
                for known in map(scored.get, seeds)
                if known and without_seed(known.name) == name
                if (known.shown_in, model.name) not in shown
            )
            scored.setdefault(model.scores, replace(model, shown_in=next(first, model.place)))
    return list(scored.values())


def named(models: Sequence[Scored]) -> dict[str, Scored]:
    """Name models, with the shortest end of the run's path that distinguishes them.

    All seeds of a model have the same path before their names.
    """
    seeds_of = [(model.shown_in, without_seed(model.name)) for model in models]
    different = list(dict.fromkeys(seeds_of))
    names = short_names([(*run.absolute().parts, name) for run, name in different])
    shortest = dict(zip(different, names, strict=True))
    return {
        shortest[key] + model.name.removeprefix(key[1]): model
        for key, model in zip(seeds_of, models, strict=True)
    }


def check_same_text(models: Sequence[Scored]) -> None:
    """Reject models that did not score the same words."""
    if difference := difference_in_text(models):
        raise AccordError(difference)


def difference_in_text(models: Sequence[Scored]) -> str | None:
    """Name the first split of which models did not score the same words, in a sentence."""
    first, *others = models
    for model, split in product(others, first.splits):
        ours, theirs = (scored.folders["encode"] for scored in (first, model))
        if not is_same_text(ours, theirs, split):
            expected, got = (read_sizes(folder).get(split, {}) for folder in (ours, theirs))
            sizes = f"expected {expected}, got {got}"
            if expected == got:
                sizes = f"both have {got}, but other sentences, or others in capitals"
            return (
                f"{model.place.name}/{model.name} and {first.place.name}/{first.name} did not "
                f"score the same words of {split}: {sizes}"
            )
    return None


def read_scores(evaluated: Path) -> pd.DataFrame:
    """Read one model's figures as they were measured: split or suite, metric, value."""
    figures = load_json(evaluated / FIGURES, dict, finite=False)
    rows = [(split, *figure) for split, values in figures.items() for figure in values.items()]
    return pd.DataFrame(rows, columns=["split", "metric", "value"])


def read_epochs(trained: Path) -> pd.DataFrame:
    return pd.read_csv(trained / CURVE)


def of_models(
    folders: Mapping[str, Path], read: Callable[[Path], pd.DataFrame] = read_scores
) -> pd.DataFrame:
    """Read the rows of every model, with its name in the first column."""
    parts = {model: read(folder) for model, folder in folders.items()}
    return pd.concat(parts, names=["model"]).reset_index(level="model").reset_index(drop=True)


def scores(run: str | Path) -> pd.DataFrame:
    """Read the rows of a finished run's report: model, split, metric, value."""
    return pd.read_parquet(Path(run) / "report" / "scores.parquet")


# A column of the comparison table: title, split (each test split, each source's part of one where
# there are several, each suite), metric, digits.
Column = tuple[str, str, str, int]
# Further figures that have a column.
OTHERS: list[Column] = [
    ("start's ppl", "start", OF_START, 1),
    ("agreement", "suite", "accuracy", 3),
    ("ties", "suite", "ties", 0),
    ("parameters", "train", "parameters", 0),
    ("words/s", "train", "words trained per second", 0),
    ("train s", "train", "seconds", 1),
]


def test_splits(scores: pd.DataFrame) -> list[str]:
    """Return every split used neither for training nor for early stopping, `test` first."""
    splits = [split for split in _test_parts(scores) if "/" not in split]
    return sorted(splits, key=lambda name: name != "test")


def _test_parts(scores: pd.DataFrame) -> list[str]:
    """Return every test split, and every source's part of one: `test/orangesum`."""
    splits = scores["split"][scores["metric"] == "perplexity"].unique()
    return [split for split in splits if split.partition("/")[0] != "valid"]


def columns() -> list[Column]:
    """Return every metric that has a column, and further figures of a model."""
    metrics = [(name, part.about) for name, part in METRICS.parts().items()]
    of_tests = [
        (about["column"], kind, name, about.get("digits", 1))
        for name, about in metrics
        if "column" in about
        for kind in (("test", "part") if name == "perplexity" else ("test",))
    ]
    return [*of_tests, *OTHERS]


def comparison_table(scores: pd.DataFrame, chosen: Sequence[Column] | None = None) -> pd.DataFrame:
    """Return one row per model, its seeds together; a column per figure and test split."""
    values = scores.set_index(["model", "split", "metric"])["value"]
    tests = test_splits(scores)
    splits = {
        "test": tests,
        "one test": tests[:1],
        "part": [split for split in _test_parts(scores) if split not in tests],
        "start": tests if (scores["metric"] == OF_START).any() else [],
        "suite": scores["split"][scores["metric"] == "accuracy"].unique(),
        "train": ["train"],
    }
    rows = []
    for model, seeds in by_seed(scores["model"].unique()).items():
        row = {"model": model}
        for title, kind, metric, digits in chosen or columns():
            for split in splits[kind]:
                is_only = len(splits[kind]) == 1 and kind != "part"
                figures = [values.get((seed, split, metric)) for seed in seeds]
                row[title if is_only else f"{title} ({split})"] = mean_and_spread(
                    [figure for figure in figures if figure is not None], digits
                )
        rows.append(row)
    return pd.DataFrame(rows)


def headline(scores: pd.DataFrame) -> str:
    """Compare the best model with the first in a sentence; return none for a single model."""
    (split, *_) = test_splits(scores)
    perplexities = scores[(scores["split"] == split) & (scores["metric"] == "perplexity")]
    values = perplexities.set_index("model")["value"]
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


ACCURACY = "accuracy: "  # before the name of a construction
TIES = "ties: "
UNKNOWN = "pairs with unknown words: "


def constructions(scores: pd.DataFrame) -> pd.DataFrame:
    """Return each model's mean share judged rightly by construction, its interval and its ties."""
    values = scores.set_index(["model", "split", "metric"])["value"]
    judged = scores[scores["metric"].str.startswith(ACCURACY)]
    rows = []
    for (suite, metric), of_models in judged.groupby(["split", "metric"], sort=False):
        name = metric.removeprefix(ACCURACY)
        shown = name if judged["split"].nunique() == 1 else f"{suite}: {name}"
        for model, seeds in by_seed(of_models["model"]).items():
            shares = [values[seed, suite, metric] for seed in seeds]
            pairs = int(values[seeds[0], suite, f"pairs: {name}"])
            pairs -= int(values[seeds[0], suite, UNKNOWN + name])
            ties = np.mean([values[seed, suite, TIES + name] for seed in seeds])
            share = float(np.mean(shares))
            rows.append((shown, model, pairs, ties, shares, share, *wilson(share * pairs, pairs)))
    columns = ["group", "model", "pairs", "ties", "shares", "share", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def construction_table(shares: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each construction, a column for each model: mean ± spread over its seeds.

    The last row has the ties of all constructions, each of which counts one half above.
    """
    rows = []
    for name, of_models in shares.groupby("group", sort=False):
        row = {"construction": name.replace("_", " "), "pairs": f"{of_models['pairs'].max():,}"}
        shown = of_models["shares"].map(lambda seeds: mean_and_spread(seeds, 3))
        rows.append(row | dict(zip(of_models["model"], shown, strict=True)))
    if rows:
        ties = shares.groupby("model")["ties"].sum().map("{:,.0f}".format)
        rows.append({"construction": "ties", "pairs": ""} | ties.to_dict())
    return pd.DataFrame(rows).fillna("–")


def by_size(scores: pd.DataFrame, split: str, encoded: Mapping[str, Path]) -> pd.DataFrame:
    """Return the perplexity of every model with its kind and its training sentences.

    Models whose names differ in a number, `adapted-300` and `adapted-3000`, are of one kind. Kinds
    that were trained on texts of one size are left out.
    """
    rows = scores[(scores["split"] == split) & (scores["metric"] == "perplexity")]
    rows = rows.assign(
        kind=[re.sub(r"-\d+$", "", without_seed(model)) for model in rows["model"]],
        sentences=[read_sizes(encoded[model])["train"]["sentences"] for model in rows["model"]],
    )
    sizes = rows.groupby("kind")["sentences"].nunique()
    return rows[rows["kind"].isin(sizes[sizes > 1].index)]


RESAMPLES = 10_000
AT_ONCE = 500  # resamples drawn together: a matrix of so many rows, a column for each sentence
LEVEL = 0.95


@dataclass(frozen=True)
class Difference:
    """Nats per word by which the first model loses more than the second, and its interval."""

    nats: float
    low: float
    high: float

    @property
    def is_real(self) -> bool:
        return self.low > 0 or self.high < 0

    @property
    def shown(self) -> dict[str, str]:
        return {
            "nats/word more": f"{self.nats:+.4f}",
            "95 % of resamples": f"{self.low:+.4f} to {self.high:+.4f}",
            "perplexity ×": f"{np.exp(self.nats):.3f}",
            "real": "yes" if self.is_real else "no",
        }


def paired_bootstrap(
    differences: np.ndarray, words: np.ndarray, resamples: int = RESAMPLES, seed: int = 1
) -> Difference:
    """Return two models' mean difference per word from each sentence's difference and words."""
    sentences = len(words)
    generator = np.random.default_rng(seed)
    means = []
    for start in range(0, resamples, AT_ONCE):
        size = min(AT_ONCE, resamples - start)
        drawn = generator.multinomial(sentences, np.full(sentences, 1 / sentences), size)
        means.append(drawn @ differences / (drawn @ words))
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(np.concatenate(means), [tail, 1 - tail])
    return Difference(float(differences.sum() / words.sum()), float(low), float(high))


@dataclass(frozen=True)
class Compared:
    """A model on one test, and its difference from another; none from itself."""

    model: str
    against: str
    split: str
    perplexity: float
    difference: Difference | None

    @property
    def factor(self) -> str:
        """Return the ratio of the perplexities of `against` and `model`, in a line."""
        nats, low, high = self.difference.nats, self.difference.low, self.difference.high
        factor, least, most = np.exp([-nats, -high, -low])
        return (
            f"{self.against} / {self.model}, perplexity on {self.split}: {factor:.3f} "
            f"({LEVEL:.0%} of {RESAMPLES:,} paired resamples of sentences: {least:.3f} to "
            f"{most:.3f})"
        )


def compare_models(
    evaluated: Mapping[str, Path],
    encoded: Mapping[str, Path],
    splits: Iterable[str],
    against: str | None = None,
) -> list[Compared]:
    """Compare each model with one of them on each test, by default the first.

    The seeds of a model are taken together, by their mean losses. Models that scored other
    sentences, or none of a test, cannot be paired and are left out.
    """
    compared = []
    for split in splits:
        scored = [name for name in evaluated if (evaluated[name] / f"{split}.log_p.npy").exists()]
        seeds = by_seed(scored)
        reference = against or next(iter(seeds))
        text = encoded[seeds[reference][0]]
        lengths = load_array(text / f"{split}.lengths.npy")
        losses = {}
        for model, members in seeds.items():
            if is_same_text(encoded[members[0]], text, split):
                log_p = [load_array(evaluated[seed] / f"{split}.log_p.npy") for seed in members]
                mean = np.mean(log_p, axis=0, dtype=np.float64)
                losses[model] = -np.add.reduceat(mean, np.cumsum(lengths) - lengths)
        for model, of_sentences in losses.items():
            difference = None
            if model != reference:
                difference = paired_bootstrap(of_sentences - losses[reference], lengths)
            perplexity = float(np.exp(of_sentences.sum() / lengths.sum()))
            compared.append(Compared(model, reference, split, perplexity, difference))
    return compared
