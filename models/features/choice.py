"""What the encoder reads of a word, as a recipe names it (accord.models.parts.INPUTS)."""

from typing import NamedTuple

import numpy as np
from torch import nn

from accord.models.common.registry import Choice, parted
from accord.models.features.embedding import FeatureEmbedding
from accord.models.features.phi import Features
from accord.models.parts import INPUTS

Psi = Features | np.ndarray  # other features of the same words, or the letters of each


class WordsRead(NamedTuple):
    """What an input is made from."""

    features: Features  # Φ
    psi: Psi | None  # what is read of words where it is not Φ
    size: int
    dropouts: dict[str, float]


def embedding(
    choice: Choice, features: Features, psi: Psi | None, size: int, *, tied: bool, **dropouts: float
) -> nn.Module:
    """ψ: of features by default Φ's, of each word by itself, or of its letters."""
    name, _ = parted(choice)
    if name != "features" and tied:
        raise ValueError(
            f"input: {name} cannot be tied to an output over features; expected tied: false"
        )
    return INPUTS.make(choice, WordsRead(features, psi, size, dropouts))


def features(read: WordsRead) -> FeatureEmbedding:
    """Its features: φ, or ψ where it has others."""
    phi, psi = read.features, read.psi
    if psi is not None and psi.vocabulary_size != phi.vocabulary_size:
        raise ValueError(
            f"psi: expected {phi.vocabulary_size} words as in Φ, got {psi.vocabulary_size}"
        )
    return FeatureEmbedding(phi if psi is None else psi, read.size, **read.dropouts)


def words(read: WordsRead) -> FeatureEmbedding:
    """Which word it is: one-hot."""
    return FeatureEmbedding(
        Features.one_hot(read.features.vocabulary_size), read.size, **read.dropouts
    )


def reads_letters(choice: Choice) -> bool:
    return INPUTS.part(parted(choice)[0]).about.get("reads") == "letters"
