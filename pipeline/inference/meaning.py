"""What the dense block of φ says: how well a word's vector fits, and which words would fit best."""

import numpy as np

from accord.models.features.phi import Features

MEANING = "meaning"  # the term a_dense·v(x) of an explanation


class Meaning:
    """The vectors of a Φ, asked in the direction in which the network points, a_dense."""

    def __init__(self, phi: Features, first: int):
        """`first` is the id of the first word that is written; ids fall in frequency."""
        self.phi = phi
        if not phi.dimensions:
            return
        row = phi.vector[phi.signature[first:]]
        rows, words = np.unique(row, return_index=True)  # the most frequent word of each vector
        has_vector = phi.vectors[rows].any(axis=1)
        self.words = first + words[has_vector]
        vectors = phi.vectors[rows[has_vector]]
        self.directions = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def nats(self, word: int, weights: np.ndarray) -> float | None:
        """a_dense·v(x), what its meaning gives a word; None where words have no vectors."""
        if not self.phi.dimensions:
            return None
        vector = self.phi.vectors[self.phi.vector[self.phi.signature[word]]]
        return float(weights[self.phi.sparse_count :] @ vector)

    def sought(self, weights: np.ndarray, most: int) -> list[int]:
        """The words whose vectors are nearest to what the network asks for, by cosine."""
        if not self.phi.dimensions:
            return []
        nearest = np.argsort(-(self.directions @ weights[self.phi.sparse_count :]), kind="stable")
        return self.words[nearest[:most]].tolist()
