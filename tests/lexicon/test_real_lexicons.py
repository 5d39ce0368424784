"""The published files: every tag has a meaning, hard words are as checked by hand."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from accord import lexicon
from accord.lexicon.analysis import UPOS
from accord.lexicon.dictionaries import lexique, read_sounds
from accord.lexicon.guesser import coverage, gaps, values
from accord.lexicon.homophones import Homophones, Spoken

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
    assert {"Mood=Sub", "Tense=Imp", "VerbForm=Inf"} <= {*values(known)[1]}


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


TABLE = Path(__file__).parents[1] / "data" / "hard-words.txt"
LONG = "Mood=Ind Mood=Sub Mood=Cnd Mood=Imp VerbForm=Part VerbForm=Inf VerbForm=Fin Tense=Pres"
LONG += " Tense=Imp Tense=Past Tense=Fut Person=1 Person=2 Person=3 Gender=Masc Gender=Fem"
LONG += " Number=Sing Number=Plur"
SHORT = "ind sub cnd imp part inf  pres impf past fut 1 2 3 m f s p"  # VerbForm=Fin is not written
SHORT = dict(zip(LONG.split(), SHORT.split(" "), strict=True))


def expected(name: str) -> dict[str, str]:
    table, word = {}, ""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if not line.startswith(" "):
            word = line
        elif line.split()[0] == name:
            table[word] = line.split(maxsplit=1)[1]
    return table


def readable(analyses) -> str:
    rank = {pair: place for place, pair in enumerate(SHORT)}
    lines = []
    for lemma, upos, feats, _ in analyses:
        pairs = sorted(feats.split("|"), key=lambda pair: (rank.get(pair, len(rank)), pair))
        lines.append(" ".join(filter(None, [lemma, upos, *(SHORT.get(p, p) for p in pairs)])))
    return "; ".join(sorted(lines)) or "—"


@pytest.mark.parametrize("name", ["closed", "lefff", "dela", "lexique"])
def test_hard_words(name, folder):
    table = expected(name)
    assert len(table) >= 40
    known = lexicon.load([name], folder=folder)
    assert {word: readable(known.analyses(word)) for word in table} == table


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
