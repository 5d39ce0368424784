"""How likely a model found a text; a sentence's end counts as a word unless it says not."""

import numpy as np

from accord.pipeline.evaluation.metrics import METRICS
from accord.pipeline.evaluation.metrics.scored_text import ScoredText


@METRICS.register("perplexity", column="perplexity", digits=1)
def perplexity(text: ScoredText) -> float:
    return np.exp(-text.log_p.mean())


@METRICS.register("nats per word", column="nats/word", digits=3)
def nats_per_word(text: ScoredText) -> float:
    return -text.log_p.mean()


@METRICS.register("nats per word without ends")
def nats_without_ends(text: ScoredText) -> float:
    return -text.log_p[~text.is_end].mean()


@METRICS.register("bits per character", column="bits/char", digits=3)
def bits_per_character(text: ScoredText) -> float:
    return -text.log_p.sum() / np.log(2) / text.characters


@METRICS.register("perplexity of unseen words", column="unseen words' ppl", digits=0)
def perplexity_of_unseen_words(text: ScoredText) -> float | None:
    return np.exp(-text.log_p[text.is_unseen].mean()) if text.is_unseen.any() else None
