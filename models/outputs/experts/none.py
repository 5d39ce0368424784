"""`expert: none`: the name of a model whose features do not depend on the context."""

from models.features.phi import Features


def none(features: Features) -> None:
    """φ is of the word alone."""
    return None
