"""Networks of letters: guesses for words out of the lexicon, and reinflection."""

import numpy as np
import pandas as pd
import pytest
import torch

from accord import lexicon
from accord.lexicon.analysis import everything
from accord.models.data import END, NO_WORD
from accord.zoo.guesser import learned_lstm_guesser
from accord.zoo.reinflection import (
    Cell,
    EndingRules,
    Reinflection,
    cells_of,
    exact_match,
    recipe_of,
)

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


PLURAL = ("NOUN", "Number=Plur")
CELLS = [Cell(lemma, PLURAL, (form,)) for lemma, form in [
    ("chat", "chats"), ("chien", "chiens"), ("cheval", "chevaux"), ("journal", "journaux"),
]]  # fmt: skip


def test_a_cell_has_all_forms_that_are_right_and_lemmas_are_kept_together():
    rows = pd.DataFrame(
        [
            ("payer", "VERB", "Number=Sing|Person=3", "paie"),
            ("payer", "VERB", "Number=Sing|Person=3", "paye"),
            ("chat", "NOUN", "Number=Plur", "chats"),
            ("et", "CCONJ", "", "et"),
        ],
        columns=["lemma", "upos", "feats", "form"],
    )
    found = {cells[0].lemma: cells for cells in cells_of(rows, lemmas=5, seed=1)}
    assert found.keys() == {"payer", "chat"}
    assert found["payer"] == [Cell("payer", ("VERB", "Number=Sing", "Person=3"), ("paie", "paye"))]
    assert exact_match(found["payer"], ["paye"]) == 1


def test_the_longest_ending_decides():
    endings = EndingRules(CELLS)
    assert endings.form("rival", PLURAL) == "rivaux"
    assert endings.form("mot", PLURAL) == "mots"
    assert endings.form("mot", ("NOUN", "Number=Dual")) == "mot"  # nothing is known of it


def test_c_is_the_lemma_and_its_features_and_forms_end_or_are_cut():
    network = Reinflection(CELLS, recipe_of(epochs=1, reach=8, seed=1))
    text = network.text(CELLS[:1])
    spelled = [network.symbols[each] for each in text.previous[0] if each != NO_WORD]
    assert spelled == [*"chat", *PLURAL]
    assert [network.symbols[each] for each in text.ids] == [*"chats", ""]
    assert text.ids[-1] == END
    assert all(len(form) <= 40 for form in network.forms(CELLS))
