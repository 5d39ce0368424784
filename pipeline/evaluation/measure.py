"""A model's figures on each split, every one with its denominator.

Needs torch, numpy and safetensors only, as it also runs where a model was trained.
"""

import time
from pathlib import Path

import numpy as np

from models.common.arrays import load_array
from models.common.batching import Sentences
from models.common.checks import check_finite
from models.common.protocol import Model
from models.network.language_model import LanguageModel
from models.spelling.open_vocabulary import Forms, open_score
from models.spelling.strings import Spelling
from models.spelling.subwords import SubwordModel
from models.training.curve import CURVE, read_curve
from pipeline.prepared.encoded import read_sentences, read_sizes
from pipeline.prepared.encoded_forms import read_forms
from pipeline.prepared.special_words import END_ID, UNKNOWN_ID
from pipeline.prepared.trained import CURVE_PRETRAINING

FIGURES = "figures.json"


def measure(
    model: Model, spelling: Spelling | None, encoded: Path, split: str
) -> tuple[dict, np.ndarray]:
    """The figures of a split, and log p of each of its words and ends in nats."""
    sentences = read_sentences(encoded, split)
    start = time.monotonic()
    text = read_forms(encoded, split)
    log_p, is_spelled = score(model, spelling, sentences, text)
    rate = len(log_p) / (time.monotonic() - start)
    unseen = load_array(encoded / f"{split}.unseen.npy")
    characters = read_sizes(encoded)[split]["characters"]
    figures = summary(log_p, sentences.ids == END_ID, unseen, characters)
    figures["share of words spelled"] = is_spelled.sum() / figures["words"]
    figures["words scored per second"] = rate
    return figures, log_p


def score(
    model: Model, spelling: Spelling | None, sentences: Sentences, text: Forms
) -> tuple[np.ndarray, np.ndarray]:
    """log p of every word and end in nats, and which of them had to be spelled.

    A model of subwords spells them all alike, and needs no other to spell what is not known.
    """
    is_spelled = np.zeros(len(sentences.ids), bool)
    if isinstance(model, SubwordModel):
        log_p = model.score(Sentences(text.positions, sentences.lengths), text.subwords)
    elif spelling is None:
        log_p = model.score(sentences)
    else:
        log_p = open_score(model, sentences, text, spelling, UNKNOWN_ID)
        classes = range(UNKNOWN_ID, UNKNOWN_ID + spelling.classes)
        is_spelled = np.isin(sentences.ids, classes)
    check_finite("log p", log_p)
    return log_p, is_spelled


def summary(log_p: np.ndarray, is_end: np.ndarray, unseen: np.ndarray, characters: int) -> dict:
    """What log-probabilities come to; a sentence's end counts as a word unless it says not."""
    words = ~is_end
    figures = {
        "nats per word": -log_p.mean(),
        "nats per word without ends": -log_p[words].mean(),
        "perplexity": np.exp(-log_p.mean()),
        "bits per character": -log_p.sum() / np.log(2) / characters,
        "words": words.sum(),
        "sentences": is_end.sum(),
        "share of words unseen in training": unseen.sum() / words.sum(),
    }
    if unseen.any():
        figures["perplexity of unseen words"] = np.exp(-log_p[unseen].mean())
    for name, value in figures.items():
        check_finite(name, np.asarray(value))
    return {name: float(value) for name, value in figures.items()}


def training_figures(model: LanguageModel, trained: Path) -> dict:
    """The size of a model, and how long and how fast it was trained."""
    curve, first = read_curve(trained / CURVE), trained / CURVE_PRETRAINING
    best = min(curve, key=lambda row: row.valid_nats).epoch
    seconds = [row.seconds for row in curve]
    before = sum(row.seconds for row in read_curve(first)) if first.exists() else 0.0
    return {
        "parameters": float(model.parameter_count()),
        "best epoch": float(best),
        "seconds": before + sum(seconds),
        "seconds to the best epoch": before + sum(seconds[:best]),
        "words trained per second": float(np.median([row.words_per_second for row in curve])),
    }
