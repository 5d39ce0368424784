"""One function for each figure of a scored text.

A metric that has a `column` stands under that title in the report's table, rounded to `digits`. A
metric without a value for a text is None, and left out.
"""

from dataclasses import dataclass

import numpy as np

from accord.models.common.registry import Registry

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
