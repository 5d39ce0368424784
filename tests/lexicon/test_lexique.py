"""Words that sound the same: a relation that is the same in both directions, on Lexique's file."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord.lexicon.dictionaries import lexique, read_sounds
from accord.lexicon.homophones import Homophones, Spoken

FORMS = st.text("aelst'", min_size=1, max_size=3)
COUNTS = st.none() | st.floats(0, 1e6)  # per million words
SPOKEN = st.lists(st.builds(Spoken, FORMS, st.text("aelst", min_size=1, max_size=3), COUNTS))


@pytest.fixture(scope="module")
def real():
    return Homophones.bundled()


def test_the_bundled_table_is_made_of_lexique(real, folder, tmp_path):
    """`python -m accord.lexicon.dictionaries FILE` writes it."""
    made = Homophones.of_rows(read_sounds(lexique.path(folder)))
    for one, other in ((made, real), (_saved(made, tmp_path), real)):
        assert (one.forms, one.sounds) == (other.forms, other.sounds)
        for name in ("sizes", "counts", "sound"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name


def _saved(found, folder):
    found.save(folder / "homophones.zip")
    return Homophones.load(folder / "homophones.zip")


def test_the_homophones_on_which_agreement_turns(real):
    assert "est" in real.sounding_like("et")
    assert real.sounding_like("ces")[0] == "ses"
    chanté = {"chanter", "chanté", "chantez", "chantées", "chantés"}
    assert set(real.sounding_like("chantée")) == chanté
    assert {"fil", "fissent"} <= set(real.sounding_like("fils")), "it is pronounced in two ways"
    assert real.sounding_like("xyzzy") == []


def test_elided_words_are_confused_with_elided_words_alone(real):
    assert real.sounding_like("c'") == ["s'"]
    assert real.sounding_like("l'") == []


def test_elided_words_are_as_frequent_as_they_are(real):
    assert min(map(real.count, ["j'", "c'", "qu'", "l'", "d'"])) > 1000
    assert real.count("l'") < real.count("le"), "which is counted by itself"
    assert real.count("xyzzy'") == 0


def test_two_words_that_sound_like_one(real):
    assert {"la", "là"} <= set(real.joined("l'", "a"))
    assert "quelle" in real.joined("qu'", "elle")
    assert ("l'", "a") in real.parted("la")
    assert ("s'", "en") in real.parted("sans")
    assert real.joined("la", "a") == real.joined("l'", "chat") == real.parted("chat") == []


@given(SPOKEN)
def test_whoever_sounds_like_another_is_sounded_like(spoken):
    found = Homophones.of_rows(spoken)
    for form in found:
        others = found.sounding_like(form)
        assert form not in others
        assert len(set(others)) == len(others)
        assert all(form in found.sounding_like(other) for other in others)
        for elided, word in found.parted(form):
            assert form in found.joined(elided, word)
