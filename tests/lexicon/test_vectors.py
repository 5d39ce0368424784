"""Word vectors: the same from any kind of file, found by spaCy's hashes, and their classes."""

import bz2
import gzip
import lzma

import numpy as np
import pytest
import srsly
from hypothesis import given
from hypothesis import strategies as st
from spacy.strings import hash_string

from accord.lexicon.analysis import LexiconError
from accord.lexicon.vectors import kmeans, read_arrays, read_spacy, read_text, string_hashes

FORMS = ["de", "Paris", "paris", "parler vrai"]
MATRIX = np.array([[0.5, -1], [2, 3.25], [0, 0.125], [7, 8]], np.float32)
TEXT = b"4 2\nde 0.5 -1\nParis 2 3.25 \nparis 0 0.125\nparler vrai 7 8\n"
WANTED = ["paris", "Paris", "Lyon", "parler vrai"]


def found(vectors) -> dict[str, list[float]]:
    return {form: vectors.matrix[row].tolist() for form, row in vectors.row.items()}


@pytest.mark.parametrize(
    ("ending", "pack"),
    [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)],
)
def test_text_arrays_and_spacys_files_say_the_same(tmp_path, ending, pack):
    path = tmp_path / f"words.vec{ending}"
    path.write_bytes(pack(TEXT))
    expected = {"paris": [0, 0.125], "Paris": [2, 3.25], "parler vrai": [7, 8]}
    assert found(read_text(path, WANTED)) == expected
    assert found(read_arrays(np.array(FORMS), MATRIX, WANTED, path)) == expected
    keys = tmp_path / "key2row"
    keys.write_bytes(srsly.msgpack_dumps({hash_string(f): row for row, f in enumerate(FORMS)}))
    assert found(read_spacy(MATRIX, keys, WANTED)) == expected


def test_of_two_lines_of_one_word_the_first_is_taken(tmp_path):
    path = tmp_path / "words.vec"
    path.write_bytes(b"2 1\nun 1\nun 2\n")
    assert found(read_text(path, ["un"])) == {"un": [1]}
    assert found(read_arrays(np.array(["un", "un"]), np.array([[1], [2]]), ["un"], path)) == {
        "un": [1]
    }


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (b"un 1 2\n", ":1: expected the number of words"),
        (b"1 2\nun 1\n", ":2: expected a word and 2 numbers"),
        (b"2 1\nun 1\n", "expected 2 words, found 1"),
        (b"1 1\nun nan\n", "expected finite numbers"),
        (b"1 1\n\xff 1\n", ":2: expected UTF-8"),
    ],
)
def test_a_text_that_is_none_is_refused_by_its_line(tmp_path, text, fault):
    path = tmp_path / "words.vec"
    path.write_bytes(text)
    with pytest.raises(LexiconError, match=r"words\.vec") as error:
        read_text(path, ["un"])
    assert fault in str(error.value)


def test_damaged_compression_and_arrays_that_do_not_fit_are_refused(tmp_path):
    path = tmp_path / "words.vec.gz"
    path.write_bytes(gzip.compress(TEXT)[:-9])
    with pytest.raises(LexiconError, match="the compressed file is damaged"):
        read_text(path, WANTED)
    with pytest.raises(LexiconError, match="array of N texts"):
        read_arrays(np.array(FORMS), MATRIX[:3], WANTED, path)
    with pytest.raises(LexiconError, match="expected vectors, found an array 4 of float32"):
        read_arrays(np.array(FORMS), MATRIX[:, 0], WANTED, path)


def test_hashes_are_spacys_for_words_of_any_length():
    words = ["a", "été", "maison", "maisons", "aujourd'hui", "Œuvre", "x" * 8, "y" * 16, "z" * 1000]
    assert string_hashes(words).tolist() == [hash_string(word) for word in words]
    assert string_hashes([]).tolist() == []


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1)))
def test_hashes_are_spacys_for_any_text(words):
    assert string_hashes(words).tolist() == [hash_string(word) for word in words]


def heaps() -> tuple[np.ndarray, np.ndarray]:
    """Thirty vectors around each of four directions, of any length."""
    generator = np.random.default_rng(0)
    heap = np.repeat(np.arange(4), 30)
    vectors = np.eye(4)[heap] + generator.normal(scale=0.05, size=(120, 4))
    return heap, vectors * generator.uniform(1, 9, size=(120, 1))


def test_vectors_of_one_direction_are_in_one_class():
    heap, vectors = heaps()
    classes = kmeans(vectors, 8)
    pairs = {(int(one), int(other)) for one, other in zip(classes, heap, strict=True)}
    assert len(pairs) == len({one for one, _ in pairs}), "no class is of two heaps"


def test_classes_are_the_same_each_time_and_no_more_than_asked():
    _, vectors = heaps()
    assert np.array_equal(kmeans(vectors, 5), kmeans(vectors.copy(), 5))
    assert set(kmeans(vectors, 5)) <= set(range(5))
