"""What guesses are worth: all where they are the truth, and what a treebank is asked for."""

import math
from pathlib import Path

import pandas as pd
import pytest

from accord import lexicon
from accord.lexicon.evaluation import LEAST, figures, unknown_to

ACCORDS = Path(__file__).parent.parent / "data" / "accords.conllu"
TRUTH = [
    (0, "blouguette", "NOUN", "Gender=Fem|Number=Sing"),
    (1, "zyglotrent", "VERB", "Mood=Ind|Number=Plur|Person=3|Tense=Pres"),
    (1, "zyglotrent", "VERB", "Mood=Sub|Number=Plur|Person=3|Tense=Pres"),
    (2, "Zorglub", "PROPN", ""),
]


@pytest.fixture
def asked():
    return pd.DataFrame(TRUTH, columns=["word", "form", "upos", "feats"])


def test_the_truth_is_right_in_everything_and_costs_its_own_doubt_alone(asked):
    share = 1 / asked.groupby("word")["word"].transform("size")
    found = figures(asked, asked.assign(weight=share))
    assert found.pop("forms") == 3
    assert found.pop("nats") == pytest.approx(0.6931 / 3, abs=1e-4)  # two moods, equally likely
    assert set(found.values()) == {1.0}


def test_a_feature_that_only_one_side_has_is_no_fault_and_another_value_is(asked):
    named = asked[asked["form"] == "Zorglub"].assign(feats="Gender=Masc|Number=Sing", weight=1.0)
    noun = asked[asked["form"] == "blouguette"].assign(feats="Gender=Masc|Number=Sing", weight=1.0)
    found = figures(asked[asked["word"] != 1], pd.concat([named, noun]))
    assert (found["pos"], found["analysis"], found["among_three"]) == (1.0, 0.5, 0.5)
    assert (found["gender"], found["number"]) == (0.0, 1.0)
    assert found["nats"] == pytest.approx(-math.log(LEAST) / 2)


def test_of_a_treebank_the_words_are_asked_that_no_lexicon_knows():
    known = lexicon.load(["closed", "tiny"], folder=None)
    treebank = lexicon.load([f"treebank:{ACCORDS}"], folder=None)
    asked = unknown_to(known, treebank)
    assert 0 < asked["form"].nunique() < len(treebank)
    assert known.lookup(asked["form"].unique()).empty
    assert asked["word"].max() + 1 == asked["form"].nunique()
