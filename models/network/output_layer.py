"""The output layer that a recipe names."""

import numpy as np
from torch import nn

from accord.models.background.base import Background
from accord.models.common.registry import parted
from accord.models.features.embedding import FeatureEmbedding
from accord.models.features.phi import Features
from accord.models.outputs.given import Given
from accord.models.parts import OUTPUTS
from accord.models.recipe import Recipe


def output_layer(
    recipe: Recipe,
    features: Features,
    background: Background,
    embedding: FeatureEmbedding,
    classes: np.ndarray | None,
    labels: int = 0,
) -> nn.Module:
    """Log-linear, or another over the signatures; `classes` has the class of each word.

    So many labels stand beside h, where they are crossed with features.
    """
    given = Given(
        output=parted(recipe.output)[0],
        features=features,
        background=background,
        size=recipe.embedding if recipe.tied else recipe.hidden,
        embedding=embedding if recipe.tied else None,
        classes=classes,
        beside=labels if parted(recipe.condition)[0] == "crossed" else 0,
    )
    return OUTPUTS.make(recipe.output, given)
