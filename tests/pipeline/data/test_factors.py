"""Factors of words: what the lexicon says of each, as one number."""

import pandas as pd
import pytest

from accord.pipeline.data.templates import factors_of

ANALYSES = pd.DataFrame(
    [
        (0, "", "X", "", 1.0),
        (1, "chat", "NOUN", "Gender=Masc|Number=Sing", 1.0),
        (2, "chat", "NOUN", "Gender=Masc|Number=Plur", 1.0),
        (3, "porte", "NOUN", "Gender=Fem|Number=Sing", 1.0),
        (3, "porter", "VERB", "Number=Sing|Person=3", 1.0),
        (4, "porter", "VERB", "Number=Plur|Person=3", 0.6),
        (4, "porte", "NOUN", "Gender=Fem|Number=Sing", 0.1),
        (5, "marche", "NOUN", "Gender=Fem|Number=Sing", 1.0),
        (5, "marcher", "VERB", "Number=Sing|Person=3", 1.0),
    ],
    columns=["word", "lemma", "upos", "feats", "weight"],
)


def test_words_have_a_factor_in_common_where_the_same_is_said_of_them():
    found = factors_of(ANALYSES, 7, ["lemma", "pos", "gender"])
    lemma, pos, gender = (found[name].tolist() for name in ("lemma", "pos", "gender"))
    assert lemma[1] == lemma[2] and len({*lemma[2:6]}) == 4
    assert pos[1] == pos[2] and pos[3] == pos[5], "a noun or verb is a kind of its own"
    assert len({pos[1], pos[3], pos[4]}) == 3, "what is unlikely does not count"
    assert gender[1] == gender[2] != gender[3] == gender[5]
    for factor in (lemma, pos, gender):
        assert factor[0] == 0 and 0 not in factor[1:], "the end is like nothing else"


def test_a_factor_that_no_lexicon_has_is_refused():
    with pytest.raises(ValueError, match=r"factored: .*among lemma, pos, .*; found 'colour'"):
        factors_of(ANALYSES, 7, ["colour"])
