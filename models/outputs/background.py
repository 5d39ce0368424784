"""`output: background`: the name of a model that has no output layer, and no network either."""

from typing import NoReturn

from accord.models.outputs.given import Given


def background(given: Given) -> NoReturn:
    """The background b by itself, so that nothing is trained."""
    raise ValueError(
        "output: background is b by itself, without a network; a model of subwords, or one that "
        "is the background of another, has none to take its place"
    )
