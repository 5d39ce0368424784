"""Plain n-grams."""

from accord.models.background.history.given import Given
from accord.models.background.ngram import NGramBackground


def words(given: Given) -> NGramBackground:
    """The last words."""
    return NGramBackground.learn(
        given.features, given.texts, given.order, given.smoothing, given.prior, given.folds
    )
