"""Guesses by letters: proper distributions, the same from the same seed, learned from both ends."""

import numpy as np
import pandas as pd
import pytest
import torch

from accord import lexicon
from accord.lexicon.analysis import everything
from accord.zoo.guesser import learned_lstm_guesser

COLUMNS = ["form", "lemma", "upos", "feats"]
STRINGS = ["tweetera", "ninjas", "Zorglub", "FMI", "A380", "x", "œ", "", "🙂", "東京"]
STRINGS.append("A" + "é" * 99)


@pytest.fixture(scope="module")
def tiny():
    return everything(lexicon.load(["tiny"], folder=None))


@pytest.fixture(scope="module")
def guesser(tiny):
    return learned_lstm_guesser(tiny, "", steps=5)


@pytest.mark.slow
def test_any_string_has_analyses_whose_weights_sum_to_one(guesser):
    rows = guesser.lookup(STRINGS)
    assert rows["word"].nunique() == len(STRINGS)
    assert np.allclose(rows.groupby("word")["weight"].sum(), 1, atol=1e-5)
    assert not rows.duplicated(["word", "upos", "feats"]).any()
    assert guesser.lookup([]).empty


def test_a_word_has_an_analysis_where_all_of_very_many_are_unlikely():
    rows = [("mot" + "a" * tag, "mot", "NOUN", f"Sort={tag}") for tag in range(300)]
    guesser = learned_lstm_guesser(pd.DataFrame(rows, columns=COLUMNS), "", steps=0)
    assert guesser.lookup(["blouguette"])["weight"].sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.slow
def test_a_word_alone_is_guessed_as_among_others(guesser):
    together = guesser.lookup(STRINGS * 500)  # more than are asked at once
    for place, form in enumerate(STRINGS, start=499 * len(STRINGS)):
        alone, among = guesser.lookup([form]), together[together["word"] == place]
        assert (
            alone[["upos", "feats"]].to_numpy().tolist()
            == among[["upos", "feats"]].to_numpy().tolist()
        )
        assert np.allclose(alone["weight"], among["weight"], atol=1e-5)


def test_a_seed_decides_all_and_no_other_draw_of_torch(tiny, guesser):
    state = torch.get_rng_state()
    again, other = (learned_lstm_guesser(tiny, "", steps=5, seed=seed) for seed in (0, 1))
    assert torch.equal(torch.get_rng_state(), state)
    pd.testing.assert_frame_equal(again.lookup(STRINGS), guesser.lookup(STRINGS))
    assert not other.lookup(STRINGS).equals(guesser.lookup(STRINGS))
