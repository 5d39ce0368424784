"""Combinations of models that were scored: tuned on validation, judged on the tests."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from accord.errors import AccordError
from accord.models import calibration
from accord.models.common.registry import extension
from accord.models.data import Model
from accord.pipeline.base.messages import say, track
from accord.pipeline.model.comparison import Scored, check_same_text, find, named
from accord.pipeline.model.network import load_inference

# Log-probabilities (parts × positions of validation × words) that a log-linear combination finds
# its weights from: 1 GiB.
NUMBERS_TUNED_ON = 1 << 28

LogP = dict[str, np.ndarray]  # by split
Candidates = Mapping[str, Callable[[str], np.ndarray]]  # name → a split → log p of its words
Combined = list[tuple[np.ndarray, LogP]]  # weights and log p of all parts, then without each


def linear(
    models: list[Scored], cache: bool = False, neighbours: str | None = None, uniform: bool = False
) -> pd.DataFrame:
    """Interpolate models and helpers linearly, with tuned or equal weights.

    Helpers are a cache of recent words, or the nearest neighbours of a network, RUN/MODEL.
    """
    networks = find(neighbours) if neighbours else []
    if len(networks) > 1:
        raise AccordError(
            f"--neighbours: expected one model, RUN/MODEL; {neighbours} has {_names(networks)}"
        )
    check_same_text([*models, *networks])
    parts = _log_p(models)
    for network in networks:
        parts |= most_helpful(extension("combine.neighbours")(network), [*parts.values()])
    if cache:
        parts |= most_helpful(extension("combine.cache")(models[0]), [*parts.values()])
    scores = [*parts.values()]
    combined: Combined = []
    for chosen in _choices(len(parts)):
        stacked = {split: np.stack([scores[part][split] for part in chosen]) for split in scores[0]}
        equal = np.full(len(chosen), 1 / len(chosen))
        weights = equal if uniform else calibration.likeliest_weights(stacked["valid"])
        log_p = {split: calibration.mixed(of_split, weights) for split, of_split in stacked.items()}
        combined.append((weights, log_p))
    return _table(parts, combined)


def most_helpful(candidates: Candidates, others: Sequence[LogP]) -> dict[str, LogP]:
    """Return the candidate that helps the others most on validation, by its name."""
    known = np.stack([scores["valid"] for scores in others])

    def nats(name: str) -> float:
        with_it = np.vstack([known, candidates[name]("valid")])
        return -calibration.mixed(with_it, calibration.likeliest_weights(with_it)).mean()

    best = min(candidates, key=nats)
    return {best: {split: candidates[best](split) for split in others[0]}}


def log_linear(models: list[Scored]) -> pd.DataFrame:
    """Combine models log-linearly, by every part's whole distributions."""
    check_same_text(models)
    _check_same_vocabulary(models)
    loaded = [_with_distributions(model) for model in models]
    texts = {split: models[0].sentences(split) for split in models[0].splits}
    valid, most = texts["valid"], NUMBERS_TUNED_ON // (len(models) * models[0].words)
    sample = valid.part(0, int(np.searchsorted(np.cumsum(valid.lengths), most)) + 1)
    if len(sample.ids) < len(valid.ids):
        say(f"the weights are tuned on {len(sample.ids):,} words of {len(valid.ids):,}")
    tuned_on, weights = calibration.stacked_distributions(loaded, sample), []
    for chosen in _choices(len(models)):  # zero for the others
        weights.append(np.zeros(len(models)))
        weights[-1][chosen] = calibration.likeliest_exponents(tuned_on[chosen], sample.ids)
    log_p = {}
    for split, text in texts.items():
        pieces = [*calibration.chunks(text)]
        pieces = track(pieces, f"pieces of {split}", len(pieces))
        log_p[split] = calibration.score(loaded, weights, pieces)
    combined = [
        (of_choice, {split: log_p[split][row] for split in texts})
        for row, of_choice in enumerate(weights)
    ]
    return _table(_log_p(models), combined)


def both_directions(models: list[Scored]) -> pd.DataFrame:
    """Return the perplexity of a forward and of a backward model, and of both by their product."""
    if len(models) != 2:
        raise AccordError(
            f"--bidirectional: expected two models, FORWARD BACKWARD; got {_names(models)}"
        )
    check_same_text(models)
    return extension("combine.bidirectional")(*models)


def _names(models: Sequence[Scored]) -> str:
    return ", ".join(model.name for model in models)


def _choices(parts: int) -> list[list[int]]:
    """Return all parts by their numbers, then all without each, where that leaves one."""
    every = [*range(parts)]
    return [every, *([*every[:part], *every[part + 1 :]] for part in every if parts > 1)]


def _log_p(models: list[Scored]) -> dict[str, LogP]:
    """Read log p of the words of each split, by model."""
    return {
        name: {split: model.log_p(split) for split in model.splits}
        for name, model in named(models).items()
    }


def _table(parts: dict[str, LogP], combined: Combined) -> pd.DataFrame:
    """Return the perplexity of each part alone, its weight, and the perplexity without it."""
    (weights, together), *without = combined
    rows = [
        {"part": name, "weight": f"{weight:.3f}", **_perplexities("perplexity", log_p)}
        for weight, (name, log_p) in zip(weights, parts.items(), strict=True)
    ]
    for row, (_, others) in zip(rows, without, strict=False):  # none of a part alone
        tests = {split: log_p for split, log_p in others.items() if split != "valid"}
        row |= _perplexities("without it", tests)
    rows.append({"part": "together", **_perplexities("perplexity", together)})
    return pd.DataFrame(rows).fillna("–")


def _perplexities(title: str, log_p: LogP) -> dict[str, str]:
    """Return the perplexity of each split by the name of its column."""
    return {
        f"{title} ({split})": f"{np.exp(-nats.mean()):,.1f}" if np.isfinite(nats).all() else "∞"
        for split, nats in log_p.items()
    }


def _check_same_vocabulary(models: list[Scored]) -> None:
    """Reject models with different ids of words: their distributions cannot be multiplied."""
    first, *others = models
    for model in others:
        ids = ((m.sentences(split).ids for m in (first, model)) for split in first.splits)
        if model.words != first.words or not all(np.array_equal(*both) for both in ids):
            raise AccordError(
                f"'{model.name}' has another vocabulary than '{first.name}', {model.words:,} words "
                f"and not {first.words:,} or in another order: expected one for a log-linear "
                f"combination"
            )


def _with_distributions(model: Scored) -> Model:
    loaded = load_inference(model.opened)
    if not hasattr(loaded, "log_distributions"):
        raise AccordError(
            f"'{model.name}' spells words in subwords: expected distributions over all words for a "
            f"log-linear combination"
        )
    return loaded
