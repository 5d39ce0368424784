"""What the encoder reads of a word, as a recipe names it."""

import numpy as np
from torch import nn

from models.features.embedding import FeatureEmbedding
from models.features.letters import LetterCNN, LetterLSTM
from models.features.phi import Features

LETTERS = {"letters-cnn": LetterCNN, "letters-lstm": LetterLSTM}

Psi = Features | np.ndarray  # other features of the same words, or the letters of each


def embedding(
    name: str, features: Features, psi: Psi | None, size: int, *, tied: bool, **dropouts: float
) -> nn.Module:
    """ψ: of features by default Φ's, of each word by itself, or of its letters."""
    if name != "features" and tied:
        raise ValueError(
            f"input: {name} cannot be tied to an output over features; expected tied: false"
        )
    if name in LETTERS:
        return _of_letters(name, features, psi, size, dropouts)
    if name == "words":
        return FeatureEmbedding(Features.one_hot(features.vocabulary_size), size, **dropouts)
    if psi is not None and psi.vocabulary_size != features.vocabulary_size:
        raise ValueError(
            f"psi: expected {features.vocabulary_size} words as in Φ, got {psi.vocabulary_size}"
        )
    return FeatureEmbedding(features if psi is None else psi, size, **dropouts)


def _of_letters(name, features: Features, psi: Psi | None, size: int, dropouts: dict) -> nn.Module:
    if any(dropouts.values()):
        raise ValueError(
            f"input: {name} reads no features to drop; expected feature_dropout and vector_dropout "
            f"to be 0"
        )
    if not isinstance(psi, np.ndarray) or len(psi) != features.vocabulary_size:
        raise ValueError(
            f"input: {name} expects the letters of each of {features.vocabulary_size} words "
            f"(featurise.letters: true), got {'none' if psi is None else len(psi)}"
        )
    return LETTERS[name](psi, size)
