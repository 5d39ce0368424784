"""Which rows of a treebank sentence are words."""

import pytest

from corpora import Row, words

DES = [
    Row("Il", "word"),
    Row("parle", "word"),
    Row("des", "contracted"),
    Row("de", "part"),
    Row("les", "part"),
    Row("chats", "word"),
    Row("elidé", "empty"),
]


def test_each_view_counts_its_own_words():
    assert words(DES, "surface") == ["Il", "parle", "des", "chats"]
    assert words(DES, "syntactic") == ["Il", "parle", "de", "les", "chats"]
    assert words(DES, "rows") == ["Il", "parle", "des", "de", "les", "chats"]


def test_an_unknown_view_is_an_error():
    with pytest.raises(ValueError, match=r"'lemmas'.*surface, syntactic, rows"):
        words(DES, "lemmas")
