"""Which of numpy and torch answers for a trained model: the only place that knows."""

import numpy as np

from accord.models.common.registry import imported
from accord.models.features.phi import Features
from accord.models.inference.interface import InferenceModel
from accord.models.inference.numpy_model import NumpyModel, computes
from accord.models.spelling.subwords import SubwordModel
from accord.pipeline.sections import BACKGROUNDS
from accord.pipeline.trained.encoding import Encoding

# Imported when a model needs it, as it loads torch.
IN_TORCH = "accord.pipeline.trained.network:load_inference"


def load_inference(encoding: Encoding, is_exported: bool) -> InferenceModel | SubwordModel:
    """A trained model, ready to answer: exported LSTMs by numpy, all others by torch."""
    recipe = encoding.recipe
    if not is_exported or encoding.subwords or not computes(recipe, encoding.about["kind"]):
        return imported(IN_TORCH)(encoding)
    mass = encoding.mass()
    features = without_the_impossible(encoding.phi, encoding, mass)
    return NumpyModel(
        recipe, encoding.weights(), features, mass, encoding.psi, f"{encoding.where}: "
    )


def without_the_impossible(
    features: Features, encoding: Encoding, mass: np.ndarray | None = None
) -> Features:
    """Φ with all signatures that b has no mass for as one, so that the others alone cost time.

    After a text that was read first most are such: those of words that the corpus lacks. N-grams
    of that text, or of a file, may have mass for any.
    """
    if has_own_words(encoding) or encoding.about.get("pretraining") or encoding.subwords:
        return features
    mass = encoding.mass() if mass is None else mass
    return features.merging(np.bincount(features.signature, mass, features.signature_count) == 0)


def has_own_words(encoding: Encoding) -> bool:
    """Whether b comes from a file, which may have words that the vocabulary lacks."""
    return bool(BACKGROUNDS.part(encoding.about["kind"]).about.get("own words"))
