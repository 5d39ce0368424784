"""Classes of vectors: Lloyd's k-means, the same for the same vectors."""

import numpy as np

PASSES = 25


def kmeans(vectors: np.ndarray, classes: int) -> np.ndarray:
    """The class of each row, from 0: that of the nearest centre, its members' mean.

    A row counts by its direction, as the length of a word's vector tells little but how frequent
    the word is. Centres begin at rows drawn at random.
    """
    if len(vectors) <= classes:
        return np.arange(len(vectors))
    rows = vectors.astype(np.float32)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    centres = rows[np.sort(np.random.default_rng(0).permutation(len(rows))[:classes])]
    nearest = np.full(len(rows), -1)
    for _ in range(PASSES):
        before, nearest = nearest, _nearest(rows, centres)
        if np.array_equal(before, nearest):
            break
        sizes = np.bincount(nearest, minlength=classes)
        order = np.argsort(nearest, kind="stable")
        filled = np.flatnonzero(sizes)  # an empty class keeps its centre
        starts = np.cumsum(sizes) - sizes
        sums = np.add.reduceat(rows[order], starts[filled], axis=0)
        centres[filled] = sums / sizes[filled, None]
    return nearest


def _nearest(rows: np.ndarray, centres: np.ndarray, at_once: int = 4096) -> np.ndarray:
    """The centre at the smallest distance |c|² − 2·r·c + |r|², of equal ones the first."""
    lengths = (centres**2).sum(axis=1)
    parts = [
        (lengths - 2 * rows[start : start + at_once] @ centres.T).argmin(axis=1)
        for start in range(0, len(rows), at_once)
    ]
    return np.concatenate(parts)
