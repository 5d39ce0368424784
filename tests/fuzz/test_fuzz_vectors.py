"""Damaged files of word vectors: vectors that the file has, or an error that names it."""

import io

import numpy as np
from fuzz_cases import CASES, damaged, fuzz, outcome

from lexicon.vectors import Vectors, of_arrays, of_spacy, of_text
from models.common.arrays import load_arrays

FORMS = ["de", "la", "Paris", "été", "aujourd'hui"]
MATRIX = np.arange(15, dtype=np.float32).reshape(5, 3) / 8
TEXT = "5 3\n" + "".join(
    f"{form} {' '.join(map(str, row))}\n" for form, row in zip(FORMS, MATRIX, strict=True)
)


def sound(vectors: Vectors) -> None:
    assert vectors.matrix.ndim == 2
    assert {*vectors.row} <= {*FORMS}
    assert all(0 <= row < len(vectors.matrix) for row in vectors.row.values())
    assert np.isfinite(vectors.matrix[[*vectors.row.values()]]).all()


@CASES
def test_texts(cases, tmp_path):
    path = tmp_path / "words.vec"

    def check(data: bytes) -> None:
        found = outcome(lambda path: of_text(path, FORMS), path, data)
        if found is not None:
            sound(found)

    fuzz(cases, damaged([TEXT.encode()]), check)


@CASES
def test_arrays(cases, tmp_path):
    path = tmp_path / "words.npz"
    packed = io.BytesIO()
    np.savez(packed, forms=np.array(FORMS), vectors=MATRIX)

    def read(path):
        arrays = load_arrays(path, ("forms", "vectors"))
        return of_arrays(arrays["forms"], arrays["vectors"], FORMS, path)

    def check(data: bytes) -> None:
        found = outcome(read, path, data)
        if found is not None:
            sound(found)

    fuzz(cases, damaged([packed.getvalue()]), check)


@CASES
def test_spacys_keys(cases, tmp_path):
    from spacy.strings import hash_string
    from srsly import msgpack_dumps

    path = tmp_path / "key2row"
    keys = msgpack_dumps({hash_string(form): row for row, form in enumerate(FORMS)})

    def check(data: bytes) -> None:
        found = outcome(lambda path: of_spacy(MATRIX, path, FORMS), path, data)
        if found is not None:
            sound(found)

    fuzz(cases, damaged([keys]), check)
