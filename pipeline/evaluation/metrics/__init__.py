"""Figures of a text that was scored: one function each, from a `ScoredText` to a number.

A metric that has a `column` stands under that title in the report's table, rounded to `digits`.
What has no value for a text is None, and left out.
"""

from accord.models.common.registry import Registry

METRICS = Registry(
    "metric",
    "accord.metrics",
    modules=("accord.pipeline.evaluation.metrics.probability", "accord.pipeline.evaluation.metrics.size"),
)
