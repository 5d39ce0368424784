"""Words in units: every word can be spelled, its end shows, and only training is learned from."""

import numpy as np
import pytest

from models.batching import Sentences
from pipeline.units import BOUNDARY, BYTES, learn_units
from pipeline.vocabulary import END, UNKNOWN

FORMS = [END, UNKNOWN, "la", "petite", "petites", "pêche", "10 000", "çà", "ß", "€ur"]
COUNTS = [9, 2, 40, 30, 20, 5, 1, 0, 0, 0]


def spelled(units, word: int) -> list[str]:
    return units.names[units.units[units.starts[word] : units.starts[word + 1]]].tolist()


def in_bytes(letters: str) -> list[str]:
    return [BYTES[byte] for byte in letters.encode()]


def test_letters_seen_in_training_and_the_bytes_of_others_spell_every_word():
    units = learn_units(FORMS, COUNTS, merges=0)
    assert spelled(units, 5) == [*"pêche", BOUNDARY]
    assert spelled(units, 6) == [*"10 000", BOUNDARY]
    assert spelled(units, 8) == [*in_bytes("ß"), BOUNDARY]
    assert spelled(units, 9) == [*in_bytes("€ur"), BOUNDARY]
    assert units.units[0] == 0 and units.units[1] == 1


@pytest.mark.parametrize("merges", [0, 3, 12])
def test_pieces_say_where_each_word_ends_and_give_it_back(merges):
    units = learn_units(FORMS, COUNTS, merges)
    for word in range(2, 7):
        assert "".join(spelled(units, word)) == FORMS[word] + BOUNDARY
    assert len(units.names) == 2 + 1 + 256 + len({*"".join(FORMS[2:7])}) + merges


def test_frequent_words_become_one_piece_and_unseen_words_teach_nothing():
    units = learn_units(FORMS, COUNTS, merges=12)
    assert spelled(units, 3) == ["petite\n"]
    fewer = learn_units(FORMS[:7], COUNTS[:7], merges=12)
    assert (fewer.names == units.names).all()


def test_values_of_units_are_summed_by_word():
    units = learn_units(FORMS, COUNTS, merges=3)
    sentences = Sentences(np.array([2, 5, 0, 4, 0, 1, 9, 0]), np.array([3, 2, 3]))
    in_units = units.spell(sentences)
    assert "".join(units.names[in_units.ids]) == "".join(
        "".join(spelled(units, word)) for word in sentences.ids
    )
    ends = np.cumsum(in_units.lengths) - 1
    assert (in_units.ids[ends] == 0).all() and (in_units.ids == 0).sum() == 3
    sizes = units.sum_by_word(sentences, np.ones(len(in_units.ids)))
    assert sizes.tolist() == [len(spelled(units, word)) for word in sentences.ids]
