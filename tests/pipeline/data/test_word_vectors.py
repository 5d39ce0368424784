"""Vectors of words: found as words are written, short, and the same each time."""

import numpy as np
import pandas as pd
import pytest

from accord.pipeline.base.names import END, UNKNOWN
from accord.pipeline.config.sections import FeaturiseParams, VectorParams
from accord.pipeline.data import word_vectors
from accord.pipeline.data.word_vectors import WordVectors, find, reduced
from accord.pipeline.stages import featurise

VECTORS = {"Paris": [1, 0, 0], "paris": [0, 1, 0], "le": [0, 0, 1], "Lyon": [2, 0, 0]}
VECTORS |= {"lyon": [0, 2, 0], "SNCF": [0, 0, 3], "Jean-Paul": [5, 5, 5]}


@pytest.fixture
def source(tmp_path) -> str:
    path = tmp_path / "words.npz"
    np.savez(path, forms=np.array([*VECTORS]), vectors=np.array([*VECTORS.values()], np.float32))
    return str(path)


def types(*forms: str, written: list[str | None] | None = None, **columns) -> pd.DataFrame:
    table = pd.DataFrame({"form": forms, "count": 1, **columns})
    return table if written is None else table.assign(written=written)


def analyses(*rows: tuple[int, str, float]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["word", "upos", "weight"])
    return table.astype({"word": int, "weight": float}).assign(lemma="", feats="", source="lefff")


def vectors_of(source: str, words: pd.DataFrame, said: pd.DataFrame) -> list[list[float]]:
    found = find(source, words, said)
    return found.vectors[found.row].tolist()


def test_a_word_is_looked_up_as_training_writes_it_then_lowercased(source):
    words = types("paris", "paris", "le", written=["Paris", "paris", "LE"])
    assert vectors_of(source, words, analyses()) == [VECTORS[w] for w in ("Paris", "paris", "le")]


def test_a_word_that_training_does_not_have_is_written_as_the_lexicon_has_it(source):
    words = types("lyon", "paris", written=[None, None])
    said = analyses((0, "PROPN", 1.0), (1, "PROPN", 0.4), (1, "NOUN", 0.6))
    assert vectors_of(source, words, said) == [VECTORS["Lyon"], VECTORS["paris"]]


def test_capitals_are_tried_last(source):
    words = types("sncf", "jean-paul", "nantes", written=[None] * 3)
    found = vectors_of(source, words, analyses())
    assert found == [VECTORS["SNCF"], VECTORS["Jean-Paul"], [0, 0, 0]]


def test_where_capitals_are_kept_the_word_itself_is_looked_up(source):
    found = vectors_of(source, types("Paris", "paris", "Le"), analyses())
    assert found == [VECTORS["Paris"], VECTORS["paris"], VECTORS["le"]]


def test_special_words_have_no_vector_even_if_the_file_has_one(tmp_path):
    path = tmp_path / "words.vec"
    path.write_text(f"3 1\n{END} 1\n{UNKNOWN} 2\nun 3\n")
    assert vectors_of(str(path), types(END, UNKNOWN, "un"), analyses()) == [[0], [0], [3]]


@pytest.fixture
def many() -> WordVectors:
    """Two hundred words on a hundred vectors, every tenth without one."""
    generator = np.random.default_rng(3)
    vectors = generator.normal(size=(101, 12)) @ generator.normal(size=(12, 12)) + 4
    vectors[0] = 0
    row = generator.integers(1, 101, size=200)
    row[::10] = 0
    return WordVectors(vectors.astype(np.float32), row)


def test_reduced_vectors_are_centred_of_variance_one_and_keep_distances(many):
    short = reduced(many, 12)
    used = short[many.row[many.row > 0]]
    assert np.abs(used.mean(axis=0)).max() < 1e-5
    assert np.isclose((used**2).mean(), 1, atol=1e-5)
    variances = used.var(axis=0)
    assert (np.diff(variances) <= 1e-6).all(), "the first components say most"
    assert not short[0].any(), "no vector stays none"
    before = np.linalg.norm(many.vectors[1:] - many.vectors[1], axis=1)
    after = np.linalg.norm(short[1:] - short[1], axis=1)
    assert np.allclose(before[1:] / after[1:], before[1] / after[1], rtol=1e-4)
    fewer = reduced(many, 3)
    assert np.allclose(fewer / fewer.std(), short[:, :3] / short[:, :3].std(), atol=1e-4)


@pytest.fixture
def with_unknown(source) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two unknown words; four words are read as the first, of which one has no vector."""
    forms = (END, UNKNOWN, f"{UNKNOWN} NOUN", "Paris", "paris", "Lyon", "nantes", "le")
    counts = [9, 0, 0, 1, 1, 1, 1, 4]
    return types(*forms, unknown=[0, 1, 2, 1, 1, 1, 1, 0]).assign(count=counts), analyses()


def test_an_unknown_word_has_the_mean_of_the_words_read_as_it(source, with_unknown):
    params = FeaturiseParams(vectors=VectorParams(source, 2))
    rows, dense = word_vectors.rows(params, ["class-2"], *with_unknown)
    vectors = dense.vectors[dense.row]
    assert np.allclose(vectors[1], vectors[[3, 4, 5, 6]].mean(axis=0), atol=1e-6)
    assert not vectors[[0, 2]].any()
    assert np.array_equal(dense.vectors[0], [0, 0])
    none = rows["vectors"].set_index("word")["value"]
    assert none[1] == 0.25, "one of four has no vector"
    assert none[2] == 1, "nothing is read as this one"
    assert none[6] == 1
    of_first = rows["class-2"][rows["class-2"]["word"] == 1]
    assert of_first["value"].sum() == 1
    assert of_first.set_index("feature")["value"]["class-2=none"] == 0.25


def test_what_is_read_has_the_numbers_of_what_is_predicted(source, with_unknown):
    words, said = with_unknown
    params = FeaturiseParams(templates=("form", "class-3"), vectors=VectorParams(source, 0))
    read = FeaturiseParams(templates=params.templates, vectors=params.vectors, read=("class-3",))
    phi, psi, names = featurise.build(read, words, said)
    assert phi.feature_count == psi.feature_count
    for word in range(1, len(words)):
        of_phi, of_psi = (
            dict(zip(x.indices[entries], x.values[entries], strict=True))
            for x in (phi, psi)
            for entries in [slice(*x.indptr[x.signature[word] : x.signature[word] + 2])]
        )
        assert of_psi == {n: v for n, v in of_phi.items() if names[n].startswith("class-3=")}
    end = psi.indices[slice(*psi.indptr[psi.signature[0] : psi.signature[0] + 2])]
    assert [names[each] for each in end] == [f"form={END}"], "a sentence's end is always read"
    whole = FeaturiseParams(
        templates=params.templates, vectors=params.vectors, read=("class-3", "form")
    )
    assert featurise.build(whole, words, said).psi is None
