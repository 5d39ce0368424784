"""Damaged files of word vectors: vectors that the file has, or an error that names it."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fuzz_cases import CASES, damaged, fuzz, outcome
from hypothesis import strategies as st
from spacy.strings import hash_string
from srsly import msgpack_dumps

from accord.lexicon.vectors import VectorFile, read_arrays, read_spacy, read_text
from accord.models.common.arrays import load_arrays
from accord.pipeline.data.word_vectors import find, reduced

FORMS = ["de", "la", "Paris", "été", "aujourd'hui"]
MATRIX = np.arange(15, dtype=np.float32).reshape(5, 3) / 8
TEXT = "5 3\n" + "".join(
    f"{form} {' '.join(map(str, row))}\n" for form, row in zip(FORMS, MATRIX, strict=True)
)


def packed(matrix: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez(file, forms=np.array(FORMS), vectors=matrix)
    return file.getvalue()


def sound(vectors: VectorFile) -> None:
    assert vectors.matrix.ndim == 2
    assert {*vectors.row} <= {*FORMS}
    assert all(0 <= row < len(vectors.matrix) for row in vectors.row.values())
    assert np.isfinite(vectors.matrix[[*vectors.row.values()]]).all()


def read_both_arrays(path: Path) -> VectorFile:
    arrays = load_arrays(path, ("forms", "vectors"))
    return read_arrays(arrays["forms"], arrays["vectors"], FORMS, path)


KEYS = msgpack_dumps({hash_string(form): row for row, form in enumerate(FORMS)})
FILES = {
    "words.vec": (TEXT.encode(), lambda path: read_text(path, FORMS)),
    "words.npz": (packed(MATRIX), read_both_arrays),
    "key2row": (KEYS, lambda path: read_spacy(MATRIX, path, FORMS)),
}


@pytest.mark.parametrize("name", FILES)
@CASES
def test_damaged_files(cases, name, tmp_path):
    data, read = FILES[name]

    def check(data: bytes) -> None:
        vectors = outcome(read, tmp_path / name, data)
        if vectors is not None:
            sound(vectors)

    fuzz(cases, damaged([data]), check)


TYPES = pd.DataFrame({"form": FORMS, "count": 1})
ANALYSES = pd.DataFrame({"word": [2], "upos": ["PROPN"], "weight": [1.0]})


def finite_or_told(path: Path) -> None:
    """What becomes features is finite, or an error says why there are none."""
    try:
        found = find(str(path), TYPES, ANALYSES)
        dense = reduced(found, 2)
    except ValueError as error:
        assert "vectors" in str(error) or path.name in str(error)
    else:
        assert dense.shape == (len(found.vectors), 2)
        assert np.isfinite(dense).all()


@pytest.mark.parametrize("ending", [".vec", ".npz"])
@CASES
def test_features_of_damaged_files(cases, ending, tmp_path):
    path = tmp_path / f"words{ending}"

    def check(data: bytes) -> None:
        path.write_bytes(data)
        finite_or_told(path)

    fuzz(cases, damaged([TEXT.encode() if ending == ".vec" else packed(MATRIX)]), check)


@CASES
def test_features_of_any_numbers(cases, tmp_path):
    path = tmp_path / "words.npz"
    number = st.floats(width=32) | st.sampled_from([0.0, 1.0, 3e38, -3e38, 1e-45])

    def check(numbers: list[float]) -> None:
        path.write_bytes(packed(np.array(numbers, np.float32).reshape(5, 3)))
        finite_or_told(path)

    fuzz(cases, st.lists(number, min_size=15, max_size=15), check)
