"""Factored n-grams: what a word is forgotten as goes on from the word to its grammar."""

from collections.abc import Iterator

import numpy as np

from accord.models.background.history.given import Given
from accord.models.background.ngram import NGramBackground
from accord.models.common.batching import END, Sentences
from accord.models.ngram.counts import NOTHING, last_words


def factored(
    given: Given,
    *,
    factors: str = "lemma pos",  # what a word is backed off to, in turn; gender and others too
) -> NGramBackground:
    """The last words with their factors (Bilmes & Kirchhoff 2003), of which one is given up a time.

    With lemma ℓ and part of speech c the path of backing off is

        w₋₁ w₋₂ → w₋₁ ℓ₋₂ → w₋₁ c₋₂ → w₋₁ → ℓ₋₁ → c₋₁ → nothing

    so that a word which was never seen in its place is still known by what it is. Kneser-Ney suits
    it best: where a lemma has but one form the counts of both are the same, and other smoothings
    trust them twice.
    """
    if given.factors is None:
        raise ValueError("background.history: factored is of words; a model of subwords has none")
    named = [given.factors[name] for name in factors.split()]

    def history(sentences: Sentences) -> Iterator[np.ndarray]:
        for word in last_words(sentences, given.order - 1):
            factors_of_word = [np.where(word > END, factor[word], word) for factor in named]
            first, *others = [*reversed(factors_of_word), word]
            yield first  # a sentence's start is told but once
            yield from (np.where(column == END, NOTHING, column) for column in others)

    return NGramBackground.learn(
        given.features,
        given.texts,
        given.order,
        given.smoothing,
        given.prior,
        given.folds,
        history,
    )
