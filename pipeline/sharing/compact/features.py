"""Φ by signature in few bytes: the features of each row, their values by number."""

from pathlib import Path

import numpy as np

from accord.models.common.files.arrays import load_arrays
from accord.models.features.phi import Features
from accord.pipeline.sharing.compact.forms import narrow

PHI, PSI = "phi.compact.npz", "psi.compact.npz"
NAMES = ("lengths", "indices", "values", "value", "vector", "feature_count")


def save_features(features: Features, path: Path) -> None:
    """All but the signatures of the words and the vectors themselves."""
    values, code = np.unique(features.values, return_inverse=True)
    np.savez_compressed(
        path,
        lengths=narrow(np.diff(features.indptr)),
        indices=narrow(features.indices),
        values=values,
        value=narrow(code),
        vector=narrow(features.vector) if features.dimensions else np.zeros(0, np.uint8),
        feature_count=features.feature_count,
    )


def load_features(path: Path, signature: np.ndarray, vectors: np.ndarray | None) -> Features:
    """With the signature of each word, and the vectors that a dense block is made of."""
    arrays = load_arrays(path, NAMES)
    is_dense = len(arrays["vector"]) > 0
    try:
        return Features(
            np.concatenate([[0], np.cumsum(arrays["lengths"], dtype=np.int64)]),
            arrays["indices"],
            arrays["values"][arrays["value"]],
            signature,
            int(arrays["feature_count"]),
            vectors if is_dense else None,
            arrays["vector"] if is_dense else None,
        )
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{path}: {error}") from None
