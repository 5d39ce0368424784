"""Skip n-grams: a word of the context may be any, so that the others are still of use."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from accord.models.background.history.given import Given
from accord.models.background.mixture import MixedBackground, fitted_weights
from accord.models.background.ngram import NGramBackground
from accord.models.common.batching import END, Sentences
from accord.models.ngram.counts import last_words


def skip(given: Given) -> MixedBackground:
    """The last words, and the same with one of them skipped, interpolated (Goodman 2001).

        p(w | h) = λ₀·p(w | w₋₁ w₋₂ w₋₃ …) + λ₁·p(w | w₋₂ w₋₃ …) + λ₂·p(w | w₋₁ w₋₃ …) + …

    The weights are those under which a tenth of the text is likeliest by the n-grams of the rest;
    there is a set of them for each number of last words that are known as a context.
    """
    reach = given.order - 1
    skipped = [None, *range(reach - 1)]  # the oldest is not: to back off is to skip it

    def learn(texts: list[Sentences], folds: int) -> list[NGramBackground]:
        return [
            NGramBackground.learn(
                given.features,
                texts,
                given.order,
                given.smoothing,
                given.prior,
                folds,
                partial(_without, skipped=each, reach=reach),
            )
            for each in skipped
        ]

    return MixedBackground(
        given.features,
        learn(given.texts, given.folds),
        fitted_weights(learn, given.texts),
    )


def _without(sentences: Sentences, skipped: int | None, reach: int) -> Iterator[np.ndarray]:
    """The last words but one, the last being number 0; a sentence's start is never skipped."""
    is_start = np.zeros(len(sentences.ids), bool)
    for number, column in enumerate(last_words(sentences, reach)):
        if number == skipped:
            is_start = column == END
        else:
            yield np.where(is_start, END, column)
            is_start = np.zeros(len(column), bool)
