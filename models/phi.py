"""Φ by signature.

Words with the same row of Φ have the same a·φ(x). Each distinct row is a *signature*; a word is
then no more than the number of its signature, and every computation of the log-linear model costs
the number of signatures, not of words.

A row may have two blocks: sparse features, as a lexicon gives them, and a short dense vector, as a
space of meanings gives it: a·φ(x) = a_sparse·φ_sparse(x) + a_dense·v(x). A signature is then a
distinct pair of the two.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from accord.errors import AccordError
from accord.models.common.arrays import load_arrays, save_arrays
from accord.models.common.checks import check_range
from accord.models.data import in_a_row

SAVED_AS_NAMED = ("indices", "indptr", "signature", "vectors", "vector")  # scipy reads two


@dataclass(frozen=True, eq=False)
class Features:
    """Φ by signature: a sparse (S × F) matrix by rows, and the signature of each of the V words.

    Row s holds the values `values[indptr[s]:indptr[s+1]]` of the features
    `indices[indptr[s]:indptr[s+1]]`. Its dense features, the last of the F, are the row
    `vector[s]` of `vectors`; without a dense block these have no columns.
    """

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    signature: np.ndarray
    feature_count: int  # F, sparse and dense
    vectors: np.ndarray = field(default_factory=lambda: np.zeros((1, 0), np.float32))  # (R × D)
    vector: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))  # (S), a row for each

    def __post_init__(self):
        if not np.size(self.vectors) and not np.size(self.vector):  # without a dense block
            object.__setattr__(self, "vector", np.zeros(len(self.indptr) - 1, np.int64))
        for name, kind in (
            ("indptr", np.int64),
            ("indices", np.int64),
            ("values", np.float64),
            ("signature", np.int64),
            ("vector", np.int64),
        ):
            object.__setattr__(self, name, _vector(getattr(self, name), kind, name))
        object.__setattr__(self, "feature_count", int(self.feature_count))
        object.__setattr__(self, "vectors", _matrix(self.vectors, "vectors"))
        _check_rows(self.indptr, self.indices, self.values, self.sparse_count)
        if len(self.vector) != self.signature_count:
            raise AccordError(
                f"vector: expected {self.signature_count} rows, one per signature; "
                f"got {len(self.vector)}"
            )
        check_range("vector", "rows of vectors", self.vector, 0, len(self.vectors))
        if not self.vocabulary_size:
            raise AccordError("signature: expected at least one word, got none")
        check_range("signature", "signatures", self.signature, 0, self.signature_count)

    @property
    def vocabulary_size(self) -> int:
        """Return V, the number of words."""
        return len(self.signature)

    @property
    def signature_count(self) -> int:
        """Return S, the number of distinct rows."""
        return len(self.indptr) - 1

    @property
    def dimensions(self) -> int:
        """Return D, the number of dense features."""
        return self.vectors.shape[1]

    @property
    def sparse_count(self) -> int:
        """Return F − D, the number of sparse features."""
        return self.feature_count - self.dimensions

    @cached_property
    def is_identity(self) -> bool:
        """Return whether Φ·W is W itself: signature s has the one feature s, with value 1."""
        return (
            not self.dimensions
            and self.signature_count == self.feature_count == len(self.indices)
            and np.array_equal(self.indptr, np.arange(self.feature_count + 1))
            and np.array_equal(self.indices, np.arange(self.feature_count))
            and bool((self.values == 1).all())
        )

    @cached_property
    def members(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the words in the order of their signatures, and the start of each (S + 1)."""
        sizes = np.bincount(self.signature, minlength=self.signature_count)
        return np.argsort(self.signature, kind="stable"), _ends(sizes)

    @classmethod
    def from_rows(
        cls, indptr: ArrayLike, indices: ArrayLike, values: ArrayLike, feature_count: int
    ) -> "Features":
        """Group the sparse rows of words into signatures, numbered by first occurrence."""
        rows = (
            _vector(indptr, np.int64, "indptr"),
            _vector(indices, np.int64, "indices"),
            _vector(values, np.float64, "values"),
        )
        _check_rows(*rows, feature_count)
        starts, features, numbers = _canonical(*rows)

        # A row's bytes are its key: a dictionary compares them in full, so no two rows collide.
        entries = np.empty(len(features), dtype=[("index", "<i8"), ("value", "<f8")])
        entries["index"], entries["value"] = features, numbers
        raw, bounds = entries.tobytes(), (starts * entries.itemsize).tolist()
        number: dict[bytes, int] = {}
        signature = np.fromiter(
            (number.setdefault(raw[start:end], len(number)) for start, end in pairwise(bounds)),
            dtype=np.int64,
            count=len(starts) - 1,
        )
        distinct = np.frombuffer(b"".join(number), dtype=entries.dtype)
        lengths = np.fromiter(map(len, number), np.int64, len(number)) // entries.itemsize
        return cls(_ends(lengths), distinct["index"], distinct["value"], signature, feature_count)

    @classmethod
    def one_hot(cls, words: int) -> "Features":
        """Return Φ with a feature per word: with a uniform background, the ordinary softmax."""
        identity = np.arange(words)
        return cls(np.arange(words + 1), identity, np.ones(words), identity, words)

    def with_vectors(self, vectors: np.ndarray, vector: np.ndarray) -> "Features":
        """Return Φ with a dense block: `vectors` (R × D), and the row of each word (V)."""
        split = self.split_by(_vector(vector, np.int64, "vector"))
        return replace(
            split,
            feature_count=self.feature_count + np.shape(vectors)[1],
            vectors=vectors,
            vector=split.group_of_signatures("vector", vector),
        )

    def split_by(self, group: np.ndarray) -> "Features":
        """Return Φ with signatures split where their words are of different groups."""
        # Each pair as one number, which is sorted eight times as fast as rows of two are.
        groups, of_word = np.unique(group, return_inverse=True)
        pairs = self.signature * len(groups) + of_word
        _, first, number = np.unique(pairs, return_index=True, return_inverse=True)
        rows = self.signature[first]
        sparse = chosen_rows(self.indptr, self.indices, self.values, rows)
        return Features(*sparse, number, self.feature_count, self.vectors, self.vector[rows])

    def merging(self, is_merged: np.ndarray) -> "Features":
        """Return Φ with some signatures (S) merged into the last, without sparse features."""
        if not is_merged.any():
            return self
        kept = np.flatnonzero(~is_merged)
        number = np.where(is_merged, len(kept), np.cumsum(~is_merged) - 1)
        indptr, indices, values = chosen_rows(self.indptr, self.indices, self.values, kept)
        return Features(
            np.append(indptr, indptr[-1]),
            indices,
            values,
            number[self.signature],
            self.feature_count,
            self.vectors,
            np.append(self.vector[kept], self.vector[0]),
        )

    def group_of_signatures(self, name: str, group: np.ndarray) -> np.ndarray:
        """Return the group of each signature from those of its words, which must agree."""
        if len(group) != self.vocabulary_size:
            raise AccordError(
                f"{name}: expected {self.vocabulary_size} numbers, one per word; got {len(group)}"
            )
        of_signature = np.zeros(self.signature_count, np.int64)
        of_signature[self.signature] = group
        differs = group != of_signature[self.signature]
        if differs.any():
            word = int(np.argmax(differs))
            signature = self.signature[word]
            raise AccordError(
                f"{name}: expected one group in signature {signature}, word {word} is in "
                f"{group[word]}, others like it in {of_signature[signature]}; "
                f"features.split_by({name}) separates them"
            )
        return of_signature

    def save(self, path: Path | str) -> None:
        """Write a `.npz` file, from which `scipy.sparse.load_npz` reads the sparse rows."""
        arrays = {
            "format": np.array(b"csr"),
            "shape": np.array([self.signature_count, self.sparse_count]),
            "data": self.values,
            **{name: getattr(self, name) for name in SAVED_AS_NAMED},
        }
        save_arrays(Path(path), arrays)

    @classmethod
    def load(cls, path: Path | str) -> "Features":
        """Read a file of `save`."""
        names = ("format", "shape", "data", *SAVED_AS_NAMED)
        arrays = load_arrays(Path(path), names)
        shape, vectors = _vector(arrays["shape"], np.int64, "shape"), arrays["vectors"]
        rows = np.size(arrays["indptr"]) - 1
        if (
            arrays["format"] != b"csr"
            or shape.tolist()[:1] != [rows]
            or len(shape) != 2
            or vectors.ndim != 2
        ):
            raise AccordError(f"{path}: expected Φ in the format csr, a row a signature")
        kept = {name: arrays[name] for name in SAVED_AS_NAMED}
        feature_count = int(shape[1]) + vectors.shape[1]
        return cls(values=arrays["data"], feature_count=feature_count, **kept)


def _canonical(
    indptr: np.ndarray, indices: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sort each row by feature and drop zeros, so that equal rows are equal bytes."""
    row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    if not values.all():
        kept = values != 0
        row, indices, values = row[kept], indices[kept], values[kept]
        indptr = _ends(np.bincount(row, minlength=len(indptr) - 1))
    same_row = np.diff(row) == 0
    if (np.diff(indices)[same_row] <= 0).any():
        order = np.lexsort((indices, row))
        indices, values = indices[order], values[order]
        repeated = np.flatnonzero(same_row & (np.diff(indices) == 0))
        if len(repeated):
            index = repeated[0]
            raise AccordError(f"indices: row {row[index]} names feature {indices[index]} twice")
    return indptr, indices, values


def chosen_rows(
    indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return some rows of a sparse matrix."""
    lengths = indptr[rows + 1] - indptr[rows]
    entries = in_a_row(indptr[rows], lengths)
    return _ends(lengths), indices[entries], values[entries]


def _ends(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate(([0], np.cumsum(lengths)))


def _vector(values: ArrayLike, kind: type[np.number], name: str) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != 1:
        raise AccordError(f"{name}: expected one dimension, got the shape {array.shape}")
    if kind is np.int64 and array.size and not np.issubdtype(array.dtype, np.integer):
        raise AccordError(f"{name}: expected whole numbers, got {array.dtype}")
    return np.ascontiguousarray(array, dtype=kind)


def _matrix(values: ArrayLike, name: str) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != 2 or not np.issubdtype(array.dtype, np.floating):
        raise AccordError(
            f"{name}: expected a matrix of numbers, got {array.dtype} of the shape {array.shape}"
        )
    if not np.isfinite(array).all():
        index = tuple(int(axis[0]) for axis in np.nonzero(~np.isfinite(array)))
        raise AccordError(f"{name}: expected finite numbers, got {array[index]} at index {index}")
    return np.ascontiguousarray(array, dtype=np.float32)


def _check_rows(
    indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, feature_count: int
) -> None:
    if not len(indptr) or indptr[0] != 0 or indptr[-1] != len(indices):
        ends = indptr[[0, -1]].tolist() if len(indptr) else "nothing"
        raise AccordError(f"indptr: expected to run from 0 to {len(indices)}, got {ends}")
    if (np.diff(indptr) < 0).any():
        index = int(np.argmax(np.diff(indptr) < 0))
        raise AccordError(f"indptr: expected to rise, falls after index {index}")
    if len(values) != len(indices):
        raise AccordError(
            f"values: expected {len(indices)} numbers as in indices, got {len(values)}"
        )
    check_range("indices", "features", indices, 0, feature_count)
    if not np.isfinite(values).all():
        index = int(np.argmin(np.isfinite(values)))
        raise AccordError(f"values: expected finite numbers, got {values[index]} at index {index}")
