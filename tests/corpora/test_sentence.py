"""Which rows of a treebank sentence are words."""

import pytest

from accord.corpora.text import TreebankRow, words

DES = [
    TreebankRow("Il", "word"),
    TreebankRow("parle", "word"),
    TreebankRow("des", "contracted"),
    TreebankRow("de", "part"),
    TreebankRow("les", "part"),
    TreebankRow("chats", "word"),
    TreebankRow("elidé", "empty"),
]


def test_each_view_counts_its_own_words():
    assert words(DES, "surface") == ["Il", "parle", "des", "chats"]
    assert words(DES, "syntactic") == ["Il", "parle", "de", "les", "chats"]
    assert words(DES, "rows") == ["Il", "parle", "des", "de", "les", "chats"]


def test_an_unknown_view_is_an_error():
    with pytest.raises(ValueError, match=r"'lemmas'.*surface, syntactic, rows"):
        words(DES, "lemmas")
