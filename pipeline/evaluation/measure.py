"""A model's figures on each split, every one with its denominator.

Needs torch, numpy and safetensors only, as it also runs where a model was trained.
"""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accord.models.common.arrays import load_array
from accord.models.common.batching import Model
from accord.models.common.checks import check_finite
from accord.models.spelling.spelling import Spelling, score_text
from accord.models.training.log import CURVE, PHASE_CURVES, read_curve
from accord.pipeline.artefacts.names import END_ID, UNKNOWN_ID
from accord.pipeline.dataset.encoded import (
    DOCUMENTS,
    read_forms,
    read_parts,
    read_sentences,
    read_sizes,
)
from accord.pipeline.display.messages import say
from accord.pipeline.evaluation.metrics import METRICS, ScoredText

if TYPE_CHECKING:
    from accord.models.network.language_model import LanguageModel

OF_START = "perplexity of the start"  # of the initial checkpoint


def measure(
    model: Model, spelling: Spelling | None, encoded: Path, split: str, alone: bool = False
) -> tuple[dict, ScoredText]:
    """The figures of a split, and what they are computed from.

    A model of documents reads its documents, or with `alone` each sentence by itself.
    """
    sentences = read_sentences(encoded, split)
    sentences = sentences.alone() if alone else sentences
    start = time.monotonic()
    text = read_forms(encoded, split)
    log_p, is_spelled = score_text(model, spelling, sentences, text, UNKNOWN_ID)
    rate = len(log_p) / (time.monotonic() - start)
    unseen = load_array(encoded / f"{split}.unseen.npy")
    characters = read_sizes(encoded)[split]["characters"]
    scored = ScoredText(log_p, sentences.ids == END_ID, is_spelled, unseen, characters)
    return summary(scored) | {"words scored per second": rate}, scored


def measure_parts(encoded: Path, split: str, scored: ScoredText) -> dict[str, dict]:
    """The figures of each source's sentences in a split, where there are several sources."""
    sentences, text = read_sentences(encoded, split), read_forms(encoded, split)
    # A word's letters and the space or line end after it; position −1, an end, has none.
    characters = np.array([*(len(form) + 1 for form in text.forms), 0])[text.positions]
    figures = {}
    for part, of_part in read_parts(encoded, split).items():
        chosen = np.repeat(of_part, sentences.lengths)
        figures[f"{split}/{part}"] = summary(scored.of(chosen, int(characters[chosen].sum())))
    return figures


WITHOUT_CONTEXT = ("perplexity", "nats per word", "bits per character")


def is_read_in_documents(model: Model, encoded: Path, split: str) -> bool:
    """Whether the model carries its state across sentence ends in this split."""
    recipe = getattr(model, "recipe", None)
    has_documents = (encoded / f"{split}{DOCUMENTS}").exists()
    return has_documents and recipe is not None and recipe.text == "documents"


def measure_alone(
    model: Model, spelling: Spelling | None, encoded: Path, split: str
) -> dict[str, dict[str, float]]:
    """The figures of a split and its parts where each sentence is read by itself."""
    whole, scored = measure(model, spelling, encoded, split, alone=True)
    found = {split: whole} | measure_parts(encoded, split, scored)
    return {
        part: {f"{name} without context": figures[name] for name in WITHOUT_CONTEXT}
        for part, figures in found.items()
    }


def summary(text: ScoredText) -> dict[str, float]:
    """Every metric that has a value for a text; one that another package brings may fail."""
    figures = {}
    for name in METRICS:
        try:
            value = METRICS[name](text)
        except Exception as error:
            if METRICS.is_own(name):
                raise
            say(f"evaluate: metric '{name}' is left out: {error}")
        else:
            figures |= {} if value is None else {name: float(value)}
    for name, value in figures.items():
        check_finite(name, np.asarray(value))
    return figures


def training_figures(model: "LanguageModel", trained: Path) -> dict:
    """The size of a model, and how long and how fast it was trained."""
    curve = read_curve(trained / CURVE)
    first = [trained / name for name in PHASE_CURVES.values()]
    best = min(curve, key=lambda row: row.valid_nats).epoch
    before = sum((e.seconds for path in first if path.exists() for e in read_curve(path)), 0.0)
    return {
        "parameters": float(model.parameter_count()),
        "best epoch": float(best),
        "seconds": before + sum(row.seconds for row in curve),
        "seconds to the best epoch": before + sum(r.seconds for r in curve if r.epoch <= best),
        "words trained per second": float(np.nanmedian([row.words_per_second for row in curve])),
    }
