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
from accord.models.common.checks import check_each, check_range, expect
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
        for name in ("indptr", "indices", "signature", "vector"):
            object.__setattr__(self, name, _vector(getattr(self, name), np.int64, name))
        object.__setattr__(self, "values", _vector(self.values, np.float64, "values"))
        object.__setattr__(self, "feature_count", int(self.feature_count))
        object.__setattr__(self, "vectors", _matrix(self.vectors, "vectors"))
        _check_rows(self.indptr, self.indices, self.values, self.sparse_count)
        rows, count = len(self.vector), self.signature_count
        expect("vector", rows == count, f"{count} rows, one per signature", rows)
        check_range("vector", "rows of vectors", self.vector, 0, len(self.vectors))
        expect("signature", self.vocabulary_size > 0, "at least one word", "none")
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
        count = self.feature_count
        return (
            not self.dimensions
            and np.array_equal(self.indptr, np.arange(count + 1))
            and np.array_equal(self.indices, np.arange(count))
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
        rows = _vector(indptr, np.int64, "indptr"), _vector(indices, np.int64, "indices")
        numbers = _vector(values, np.float64, "values")
        _check_rows(*rows, numbers, feature_count)
        starts, features, numbers = _canonical(*rows, numbers)

        # A row's bytes are its key: a dictionary compares them in full, so no two rows collide.
        entries = np.empty(len(features), dtype=[("index", "<i8"), ("value", "<f8")])
        entries["index"], entries["value"] = features, numbers
        raw, bounds = entries.tobytes(), (starts * entries.itemsize).tolist()
        number: dict[bytes, int] = {}
        keys = (raw[start:end] for start, end in pairwise(bounds))
        signature = np.array([number.setdefault(key, len(number)) for key in keys], np.int64)
        distinct = np.frombuffer(b"".join(number), dtype=entries.dtype)
        lengths = np.array([len(row) for row in number], np.int64) // entries.itemsize
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
        words = self.vocabulary_size
        expect(name, len(group) == words, f"{words} numbers, one per word", len(group))
        of_signature = np.zeros(self.signature_count, np.int64)
        of_signature[self.signature] = group
        expected = "one group in each signature, as split_by makes them"
        check_each(name, group == of_signature[self.signature], expected, group)
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
        is_csr = arrays["format"] == b"csr" and len(shape) == vectors.ndim == 2
        if not is_csr or shape[0] != np.size(arrays["indptr"]) - 1:
            raise AccordError(f"{path}: expected Φ in the format csr, a row a signature")
        kept = {name: arrays[name] for name in SAVED_AS_NAMED}
        return cls(values=arrays["data"], feature_count=int(shape[1]) + vectors.shape[1], **kept)


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
    expect(name, array.ndim == 1, "one dimension", f"the shape {array.shape}")
    is_whole = kind is not np.int64 or not array.size or np.issubdtype(array.dtype, np.integer)
    expect(name, is_whole, "whole numbers", array.dtype)
    return np.ascontiguousarray(array, dtype=kind)


def _matrix(values: ArrayLike, name: str) -> np.ndarray:
    array = np.asarray(values)
    is_matrix = array.ndim == 2 and np.issubdtype(array.dtype, np.floating)
    expect(name, is_matrix, "a matrix of numbers", f"{array.dtype} of the shape {array.shape}")
    check_each(name, np.isfinite(array), "finite numbers", array)
    return np.ascontiguousarray(array, dtype=np.float32)


def _check_rows(
    indptr: np.ndarray, indices: np.ndarray, values: np.ndarray, feature_count: int
) -> None:
    count = len(indices)
    ends = indptr[[0, -1]].tolist() if len(indptr) else "nothing"
    expect("indptr", ends == [0, count], f"to run from 0 to {count}", ends)
    falls = np.diff(indptr) < 0
    if falls.any():
        raise AccordError(f"indptr: expected to rise, falls after index {np.argmax(falls)}")
    expect("values", len(values) == count, f"{count} numbers as in indices", len(values))
    check_range("indices", "features", indices, 0, feature_count)
    check_each("values", np.isfinite(values), "finite numbers", values)
