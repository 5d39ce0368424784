"""Words in subwords: any word is spelled, its end shows, and only training is learned from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.models.data import Sentences
from accord.models.spelling.spelling import count_subwords
from accord.pipeline.data.encoded import BOUNDARY, BYTES, Speller

COUNTS = {"la": 40, "petite": 30, "petites": 20, "pêche": 5, "10 000": 1}
FORMS = [*COUNTS, "çà", "ß", "€ha"]


def names(speller, subwords: np.ndarray) -> list[str]:
    """What subwords stand for, nothing for the end of a sentence."""
    return [speller.tokeniser.id_to_token(unit - 1) if unit else "" for unit in subwords.tolist()]


def spelled(speller, form: str) -> list[str]:
    subwords = speller.subwords([form])
    return names(speller, subwords.subwords[: subwords.starts[1]])


def in_bytes(letters: str) -> list[str]:
    return [BYTES[byte] for byte in letters.encode()]


def test_letters_seen_in_training_and_the_bytes_of_others_spell_every_word():
    speller = Speller.learn(COUNTS, merges=0)
    assert spelled(speller, "pêche") == [*"pêche", BOUNDARY]
    assert spelled(speller, "10 000") == [*"10 000", BOUNDARY]
    assert spelled(speller, "ß") == [*in_bytes("ß"), BOUNDARY]
    assert spelled(speller, "€ha") == [*in_bytes("€"), "h", "a", BOUNDARY]


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20))
def test_any_string_is_told_from_any_other_by_its_units(form):
    speller = Speller.learn(COUNTS, merges=12)
    *letters, last = "".join(spelled(speller, form))
    assert last == BOUNDARY and BOUNDARY not in letters
    raw = b"".join(bytes([BYTES.index(c)]) if c in BYTES else c.encode() for c in letters)
    assert raw.decode() == form


@pytest.mark.parametrize("merges", [0, 3, 12])
def test_there_are_as_many_units_as_letters_bytes_and_merges(merges, tmp_path):
    speller = Speller.learn(COUNTS, merges)
    for form in COUNTS:
        assert "".join(spelled(speller, form)) == form + BOUNDARY
    speller.save(tmp_path)
    assert count_subwords(tmp_path) == 1 + 1 + 256 + len({*"".join(COUNTS)}) + merges
    assert all(spelled(Speller.load(tmp_path), form) == spelled(speller, form) for form in FORMS)


def test_frequent_words_become_one_piece():
    assert spelled(Speller.learn(COUNTS, merges=12), "petite") == ["petite\n"]


def test_values_of_units_are_summed_by_word():
    speller = Speller.learn(COUNTS, merges=3)
    subwords = speller.subwords(FORMS)
    text = Sentences(np.array([0, 3, -1, 2, -1, 1, 7, -1]), np.array([3, 2, 3]))
    in_units = subwords.spell(text)
    assert "".join(names(speller, in_units.ids)) == "".join(
        "".join(spelled(speller, FORMS[place])) for place in text.ids if place >= 0
    )
    ends = np.cumsum(in_units.lengths) - 1
    assert (in_units.ids[ends] == 0).all() and (in_units.ids == 0).sum() == 3
    counted = subwords.count(text, 1 + len(speller.tokeniser.get_vocab()))
    assert counted.tolist() == np.bincount(in_units.ids, minlength=len(counted)).tolist()
    sizes = subwords.sum_by_word(text, np.ones(len(in_units.ids)))
    expected = [len(spelled(speller, FORMS[at])) if at >= 0 else 1 for at in text.ids]
    assert sizes.tolist() == expected
