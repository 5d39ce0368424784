"""A vocabulary shaped like that of French, of any size: for measuring costs without a corpus."""

from functools import cache

import numpy as np

from models.features.phi import Features

FREQUENT = 2_500  # words with a feature of their own
BUNDLES = 800  # combinations of morphological features
MORPHOLOGY = 60  # morphological features


@cache
def vocabulary(words: int) -> tuple[Features, np.ndarray]:
    """Φ with FREQUENT + BUNDLES signatures, and b by Zipf's law: word number r has 1/(r + 1).

    Every word has one bundle of two to eight morphological features, few bundles having most of
    the words; the FREQUENT first words have their identity besides.
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
    return features, 1 / np.arange(1, words + 1)


def _bundles(generator: np.random.Generator) -> np.ndarray:
    """Different sets of morphological features, as truth values (BUNDLES × MORPHOLOGY)."""
    different: dict[tuple, None] = {}
    while len(different) < BUNDLES:
        chosen = generator.choice(MORPHOLOGY, size=generator.integers(2, 9), replace=False)
        different[tuple(np.isin(np.arange(MORPHOLOGY), chosen))] = None
    return np.array(list(different))
