"""How long a text is, and what share of it a model had not met."""

from accord.pipeline.evaluation.metrics import METRICS
from accord.pipeline.evaluation.metrics.scored_text import ScoredText


@METRICS.register("words")
def words(text: ScoredText) -> float:
    return text.words


@METRICS.register("sentences")
def sentences(text: ScoredText) -> float:
    return text.is_end.sum()


@METRICS.register("share of words unseen in training")
def share_unseen(text: ScoredText) -> float:
    return text.is_unseen.sum() / text.words


@METRICS.register("share of words spelled")
def share_spelled(text: ScoredText) -> float:
    return text.is_spelled.sum() / text.words
