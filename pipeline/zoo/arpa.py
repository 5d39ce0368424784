"""The n-grams of an ARPA file as background (`background.kind: arpa`)."""

from pathlib import Path
from typing import Any

import numpy as np

from accord.models.features.phi import Features
from accord.models.recipe import Recipe
from accord.models.zoo.ngrams import arpa
from accord.pipeline.sections import BackgroundParams
from accord.pipeline.trained.encoding import Encoding


def prepare(
    params: BackgroundParams, forms: list[str], mass: np.ndarray, out: Path
) -> dict[str, Any]:
    """Write the file's n-grams over the words of the vocabulary; their order is returned."""
    return {"order": arpa.prepare(Path(params.arpa), forms, mass, out)}


def background(
    recipe: Recipe, encoding: Encoding, features: Features, folds: int
) -> arpa.ArpaBackground:
    """The n-grams that `prepare` wrote. They were not counted on the training text: no folds."""
    if encoding.subwords:
        raise ValueError("background.kind: arpa is one of words; a model of subwords has none")
    return arpa.load(features, encoding.artefacts["background"], encoding.about["order"])
