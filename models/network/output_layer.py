"""The output layer that a recipe names."""

import numpy as np
from torch import nn

from models.background.base import Background
from models.background.unigram import Unigram
from models.features.embedding import FeatureEmbedding
from models.features.phi import Features
from models.outputs.adaptive import Adaptive
from models.outputs.class_based import ClassBased
from models.outputs.log_linear import LogLinear
from models.outputs.sampled import NoiseContrastive, Sampled
from models.outputs.signature_output import SignatureOutput
from models.outputs.softmax import Softmax
from models.recipe import Recipe


def output_layer(
    recipe: Recipe,
    features: Features,
    background: Background,
    embedding: FeatureEmbedding,
    classes: np.ndarray | None,
) -> nn.Module:
    """Log-linear, or another over the signatures; `classes` has the class of each word."""
    size = recipe.embedding if recipe.tied else recipe.hidden
    if recipe.output == "log-linear":
        weight = embedding.weight if recipe.tied else None
        return LogLinear(
            features,
            background,
            size,
            weight=weight,
            background_gate=recipe.background_gate,
            temperature=recipe.temperature,
        )
    if not isinstance(background, Unigram):
        raise ValueError(
            f"output: {recipe.output} cannot use a background that depends on the context; "
            f"expected background.kind: unigram or uniform"
        )
    tied = {"weight": embedding.weight, "product": embedding.product} if recipe.tied else {}
    within = _within(recipe.output, features, background, size, classes, tied)
    return SignatureOutput(within, features, background)


def _within(
    name: str,
    features: Features,
    background: Unigram,
    size: int,
    classes: np.ndarray | None,
    tied: dict,
) -> nn.Module:
    mass = background.class_mass().exp().numpy()
    if name == "softmax":
        return Softmax(features.signature_count, size, **tied)
    if name == "adaptive":
        return Adaptive(features.signature_count, size, mass=mass)
    if name == "sampled":
        return Sampled(mass, size, **tied)
    if name == "noise-contrastive":
        return NoiseContrastive(mass, size, **tied)
    if classes is None:
        raise ValueError("output: classes has no classes of words; expected encode.classes")
    return ClassBased(features.group_of_signatures("classes", classes), size, **tied)
