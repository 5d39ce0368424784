"""One function for each figure of a scored text, and all figures of a model on each split.

A metric that has a `column` stands under that title in the report's table, rounded to `digits`. A
metric without a value for a text is None, and left out.

Needs torch, numpy and safetensors only, as it also runs where a model was trained.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from accord.models.common.arrays import load_array
from accord.models.common.checks import check_finite
from accord.models.common.registry import Registry
from accord.models.data import Model
from accord.models.log import CURVE, PHASE_CURVES, read_curve
from accord.models.spelling.spelling import Spelling, score_text
from accord.pipeline.base.messages import say
from accord.pipeline.base.names import END_ID, UNKNOWN_ID
from accord.pipeline.data.encoded import (
    DOCUMENTS,
    read_forms,
    read_parts,
    read_sentences,
    read_sizes,
)

if TYPE_CHECKING:
    from accord.models.model import LanguageModel

METRICS = Registry("metric", "accord.metrics", modules=(__name__,))


@dataclass(frozen=True)
class ScoredText:
    """The words and sentence ends of a text; the arrays have one number for each."""

    log_p: np.ndarray  # in nats
    is_end: np.ndarray
    is_spelled: np.ndarray  # words that the character model spelled
    is_unseen: np.ndarray  # words that training lacks
    characters: int  # of the text as it is written

    def of(self, chosen: np.ndarray, characters: int) -> "ScoredText":
        """Some of its words and ends, with their number of characters."""
        arrays = (self.log_p, self.is_end, self.is_spelled, self.is_unseen)
        return ScoredText(*(array[chosen] for array in arrays), characters)

    @property
    def words(self) -> int:
        """Without the ends."""
        return int((~self.is_end).sum())


@METRICS.register("perplexity", column="perplexity", digits=1)
def perplexity(text: ScoredText) -> float:
    """exp of the nats per word."""
    return np.exp(-text.log_p.mean())


@METRICS.register("nats per word", column="nats/word", digits=3)
def nats_per_word(text: ScoredText) -> float:
    """−log p per word, in nats. Each sentence end counts as a word."""
    return -text.log_p.mean()


@METRICS.register("nats per word without ends")
def nats_without_ends(text: ScoredText) -> float:
    """The same without sentence ends."""
    return -text.log_p[~text.is_end].mean()


@METRICS.register("bits per character", column="bits/char", digits=3)
def bits_per_character(text: ScoredText) -> float:
    """−log₂ p per character: the letters of each word and one more for its end."""
    return -text.log_p.sum() / np.log(2) / text.characters


@METRICS.register("perplexity of unseen words", column="unseen words' ppl", digits=0)
def perplexity_of_unseen_words(text: ScoredText) -> float | None:
    """Perplexity of the words that the training text lacks."""
    return np.exp(-text.log_p[text.is_unseen].mean()) if text.is_unseen.any() else None


@METRICS.register("words")
def words(text: ScoredText) -> float:
    """Words, without sentence ends."""
    return text.words


@METRICS.register("sentences")
def sentences(text: ScoredText) -> float:
    """Sentences."""
    return text.is_end.sum()


@METRICS.register("share of words unseen in training")
def share_unseen(text: ScoredText) -> float:
    """Share of the words that the training text lacks."""
    return text.is_unseen.sum() / text.words


@METRICS.register("share of words spelled")
def share_spelled(text: ScoredText) -> float:
    """Share of the words that the character model spells."""
    return text.is_spelled.sum() / text.words


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
