"""Guesses: proper distributions, the same for known words and others, and what they are worth."""

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from accord import lexicon
from accord.lexicon.analysis import everything
from accord.lexicon.closed import looks
from accord.lexicon.guesser import (
    FEWEST,
    LEAST,
    LONGEST,
    SMALLEST,
    compare_guessers,
    figures,
    held_out,
    learned_guesser,
    unknown_to,
)


@pytest.fixture(scope="module")
def lefff(folder):
    return lexicon.load(["lefff"], folder=folder)


@pytest.fixture(scope="module")
def guesser(lefff):
    return learned_guesser(everything(lefff), lefff.licence)


STRINGS = ["tweetera", "ninjas", "Zorglub", "FMI", "A380", "x", "œ", "", "🙂", "chanteuses", "東京"]


@pytest.mark.parametrize(
    ("form", "look"),
    [("Škoda", "capital"), ("ŠKODA", "capitals"), ("Œdème", "capital"), ("ère", "small")],
)
def test_capitals_of_every_alphabet_are_capitals(form, look):
    assert looks(np.array([form], dtype=object)).tolist() == [look]


def test_the_weights_of_any_string_sum_to_one(guesser):
    rows = guesser.lookup(STRINGS)
    assert np.allclose(rows.groupby("word")["weight"].sum(), 1, atol=1e-5)
    assert rows["word"].nunique() == len(STRINGS)
    assert not rows.duplicated(["word", "upos", "feats"]).any()


@pytest.mark.parametrize(
    ("form", "upos", "feature"),
    [
        ("tweetera", "VERB", "Tense=Fut"),
        ("googlisations", "NOUN", "Gender=Fem"),
        ("kafkaïquement", "ADV", ""),
        ("Zorglub", "PROPN", ""),
    ],
)
def test_the_likeliest_guess(guesser, form, upos, feature):
    best = max(guesser.analyses(form), key=lambda each: each.weight)
    assert best.upos == upos
    assert feature in best.feats


def test_the_same_rows_teach_the_same_guesses(lefff):
    rows = everything(lefff).iloc[::10]
    taught = (rows, rows.sample(frac=1, random_state=1))
    once, again = (
        learned_guesser(each, "").lookup(STRINGS).sort_values(["word", "upos", "feats"])
        for each in taught
    )
    assert np.allclose(again["weight"], once["weight"], atol=1e-5)
    assert again["feats"].tolist() == once["feats"].tolist()


@pytest.mark.parametrize("name", ["lexique", pytest.param("lefff", marks=pytest.mark.long)])
def test_held_out_lemmas_are_guessed_well(name, folder):
    shown, asked = held_out(lexicon.load([name], folder=folder), seed=0)
    figures = compare_guessers(
        {"guesser": learned_guesser}, shown, {"held-out lemmas": asked}
    ).iloc[0]
    assert figures.forms > 5_000
    assert figures.pos >= 0.85
    assert figures.gender_of_nouns >= 0.90
    assert figures.number >= 0.97


# A verb of many forms and nouns of few, some of which end alike; each form has one analysis or two.
ROWS = [
    *((form, "porter", "VERB", "") for form in ("porta", "porte", "portent", "porter", "portes")),
    ("porte", "porte", "NOUN", "Number=Sing"),
    ("portes", "porte", "NOUN", "Number=Plur"),
    *((form, form, "NOUN", "Number=Sing") for form in ("table", "sable", "étable", "lutte")),
    *((form, form[:-1], "NOUN", "Number=Plur") for form in ("tables", "sables")),
    *((form, form, "ADJ", "") for form in ("capable", "stable")),
    *((form, form, "ADV", "") for form in ("vite", "ensuite")),
]
QUERIED = ["affable", "portable", "instable", "truites", "moto", "suite", "y", "porte"]


def by_definition(form: str) -> dict[str, float]:
    """P(a | s) = (c(s, a) + n(s)·P(a | s less its first letter)) / (c(s) + n(s))."""
    analyses = Counter(form for form, *_ in ROWS)
    family = Counter((lemma, upos) for _, lemma, upos, _ in ROWS)
    shares: dict[str, float] = {}
    for length in range(min(LONGEST, len(form)) + 1):
        ending = form[len(form) - length :]
        rows = [row for row in ROWS if row[0].endswith(ending)]
        forms = sum(1 / analyses[row[0]] for row in rows)
        if length and forms < FEWEST:
            break
        counts: Counter[str] = Counter()
        for row in rows:
            share = 1 / analyses[row[0]] / np.sqrt(family[row[1:3]])
            counts[f"{row[2]} {row[3]}"] += share
        scale = forms / counts.total()
        backed = len(counts) if length else 0
        shares = {
            tag: (scale * counts[tag] + backed * shares.get(tag, 0)) / (forms + backed)
            for tag in {*counts, *shares}
        }
    kept = {tag: share for tag, share in shares.items() if share >= SMALLEST}
    return {tag: share / sum(kept.values()) for tag, share in kept.items()}


@pytest.mark.parametrize("form", QUERIED)
def test_a_guess_is_what_the_definition_says(form):
    table = pd.DataFrame(ROWS, columns=["form", "lemma", "upos", "feats"])
    found = learned_guesser(table, "").lookup([form])
    tags = found["upos"].astype(str) + " " + found["feats"].astype(str)
    assert dict(zip(tags, found["weight"], strict=True)) == pytest.approx(
        by_definition(form), abs=1e-6
    )


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
