"""The published files: every tag has a meaning, and a text is covered."""

import re
from collections import Counter

import pandas as pd
import pytest

from accord import lexicon
from accord.lexicon.analysis import UPOS
from accord.lexicon.evaluation import coverage, features, gaps

REAL = ["dela", "lefff", "lexique", "unimorph", "gsd-lexicon"]
# Sound rows that are no words; anything else skipped would be a tag or a row not understood.
NO_WORDS = {
    "an entry of several words",
    "a mark, not a word",
    "no class given",
    "a contracted form without an analysis",
}


@pytest.mark.parametrize("name", REAL)
def test_every_tag_of_the_real_file_is_mapped(name, folder):
    known = lexicon.load([name], folder=folder)
    assert {each.reason for each in known.skipped} <= NO_WORDS
    rows = known.lookup(list(known))
    assert set(rows["upos"]) <= set(UPOS)
    for feats in set(rows["feats"]):
        names = [pair.split("=")[0] for pair in feats.split("|")]
        assert feats == "|".join(sorted(feats.split("|")))
        assert len({*names}) == len(names), "a feature has one value"


def test_unimorph_honours_its_own_variable(folder, monkeypatch, tmp_path):
    monkeypatch.setenv("UNIMORPH", str(folder("unimorph")))
    known = lexicon.load(["unimorph"], folder=lambda _: tmp_path)
    assert len(known) > 10_000
    assert {"Mood=Sub", "Tense=Imp", "VerbForm=Inf"} <= set(features(known))


def test_lexique_keeps_its_frequencies(folder):
    known = lexicon.load(["lexique"], folder=folder)
    the, plough, unknown = known.frequency(["la", "charrue", "xyzzy"])
    assert the > 10_000 > 10 > plough > 0
    assert unknown == 0


@pytest.fixture(scope="module")
def training_words(folder):
    """Alphabetic words of UD French, proper nouns aside, with their counts."""
    counts = Counter()
    path = folder("ud-french-1.4") / "fr-ud-train.conllu"
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            cells = line.split("\t")
            if len(cells) == 10 and cells[0].isdigit() and cells[1].isalpha():
                counts[cells[1], cells[3]] += 1
    return {word: count for word, count in counts.items() if word[1] != "PROPN"}


@pytest.mark.parametrize(
    ("names", "share"),
    [
        (["lefff"], 0.985),
        (["dela"], 0.985),
        (["lefff", "dela"], 0.99),
        (["closed", "lefff", "dela", "guesser"], 1.0),
    ],
)
def test_coverage_of_ud_french(names, share, folder, training_words):
    rows = [(form, upos, count) for (form, upos), count in training_words.items()]
    words = pd.DataFrame(rows, columns=["form", "upos", "count"])
    known = lexicon.load(names, folder=folder)
    table = coverage(known, words).set_index("upos")
    assert table.loc["all", "tokens"] == words["count"].sum()
    assert table.loc["all", "token_share"] >= share
    assert table.drop("all")["tokens_covered"].sum() == table.loc["all", "tokens_covered"]
    missing = gaps(known, words, most=5)
    assert not any(known.analyses(form) for form in missing["form"])


def test_a_tokenised_number_with_a_space_is_a_word_of_a_treebank(folder):
    path = folder("ud-french-sequoia-2.16") / "fr_sequoia-ud-train.conllu"
    known = lexicon.load([f"treebank:{path}"], folder=folder)
    assert {each.upos for each in known.analyses("20 000")} == {"NUM"}
    assert {each.upos for each in known.analyses("du")} >= {"ADP", "DET"}
    assert not [form for form in known if re.search(r"Typo|ExtPos", str(known.analyses(form)))][:1]
