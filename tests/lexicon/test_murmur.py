"""Words have the hashes that spaCy gives them."""

from hypothesis import given
from hypothesis import strategies as st
from spacy.strings import hash_string

from lexicon.murmur import string_hashes


def test_hashes_are_spacys_for_words_of_any_length():
    words = ["a", "été", "maison", "maisons", "aujourd'hui", "Œuvre", "x" * 8, "y" * 16, "z" * 1000]
    assert string_hashes(words).tolist() == [hash_string(word) for word in words]
    assert string_hashes([]).tolist() == []


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1)))
def test_hashes_are_spacys_for_any_text(words):
    assert string_hashes(words).tolist() == [hash_string(word) for word in words]
