"""A vocabulary shaped like that of French, of any size: for measuring costs without a corpus."""

from functools import cache
from typing import Literal

import numpy as np

from models.features.phi import Features

FREQUENT = 2_500  # words with a feature of their own
BUNDLES = 800  # combinations of morphological features
MORPHOLOGY = 60  # morphological features
# As spaCy's vectors are for French: of 42,500 words of a text 88 % have one, of 465,000 of a text
# and a lexicon 140,000.
VECTORS, DIMENSIONS, WITH_VECTOR = 20_000, 64, 140_000
CLASSES = 2_000  # of vectors

Meaning = Literal["no meaning", "classes", "vectors"]


@cache
def vocabulary(words: int, meaning: Meaning = "no meaning") -> tuple[Features, np.ndarray]:
    """Φ with FREQUENT + BUNDLES signatures, and b by Zipf's law: word number r has 1/(r + 1).

    Every word has one bundle of two to eight morphological features, few bundles having most of
    the words; the FREQUENT first words have their identity besides. What words mean makes more
    signatures: the commoner words have a vector each, or the class of that vector as a feature.
    """
    generator = np.random.default_rng(0)
    bundles = _bundles(generator)
    share = 1 / np.arange(1, BUNDLES + 1)
    bundle = generator.choice(BUNDLES, size=words, p=share / share.sum())
    bundle[FREQUENT : FREQUENT + BUNDLES] = np.arange(BUNDLES)  # so that each has a word
    identity = np.arange(words) < FREQUENT
    rows = np.concatenate([identity[:, None], bundles[bundle]], axis=1)
    row, column = np.nonzero(rows)
    indices = np.where(column == 0, row, FREQUENT + column - 1)
    indptr = np.concatenate(([0], np.cumsum(rows.sum(axis=1))))
    features = Features.from_rows(indptr, indices, np.ones(len(indices)), FREQUENT + MORPHOLOGY)
    if meaning != "no meaning":
        features = _meaning(features, meaning, generator)
    return features, 1 / np.arange(1, words + 1)


def _meaning(features: Features, meaning: Meaning, generator: np.random.Generator) -> Features:
    words = features.vocabulary_size
    vector = generator.integers(1, VECTORS + 1, size=words)
    vector[min(int(0.88 * words), WITH_VECTOR) :] = 0
    if meaning == "vectors":
        vectors = generator.normal(size=(VECTORS + 1, DIMENSIONS)).astype(np.float32)
        vectors[0] = 0
        return features.with_vectors(vectors, vector)
    split = features.split_by(np.where(vector, vector % CLASSES, CLASSES))
    of_signature = split.group_of_signatures("class", np.where(vector, vector % CLASSES, CLASSES))
    has_class = of_signature < CLASSES
    ends = split.indptr[1:][has_class]
    classes = features.feature_count + of_signature[has_class]
    indices = np.insert(split.indices, ends, classes)
    indptr = split.indptr + np.concatenate(([0], np.cumsum(has_class)))
    count = features.feature_count + CLASSES
    return Features(indptr, indices, np.ones(len(indices)), split.signature, count)


def _bundles(generator: np.random.Generator) -> np.ndarray:
    """Different sets of morphological features, as truth values (BUNDLES × MORPHOLOGY)."""
    different: dict[tuple, None] = {}
    while len(different) < BUNDLES:
        chosen = generator.choice(MORPHOLOGY, size=generator.integers(2, 9), replace=False)
        different[tuple(np.isin(np.arange(MORPHOLOGY), chosen))] = None
    return np.array(list(different))
