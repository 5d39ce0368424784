"""Plain n-grams."""

from models.background.history import HISTORIES
from models.background.history.given import Given
from models.background.ngram import NGramBackground


@HISTORIES.register("words")
def words(given: Given) -> NGramBackground:
    """The last words."""
    return NGramBackground.learn(
        given.features, given.texts, given.order, given.smoothing, given.prior, given.folds
    )
