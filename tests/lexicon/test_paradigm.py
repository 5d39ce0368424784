"""Paradigms: a flipped form has the same lemma, is wrong in its place, and flips back."""

from pathlib import Path

import pytest

from accord import lexicon
from accord.lexicon.analysis import Paradigms

TABLE = Path(__file__).parents[1] / "data" / "accords.tsv"
OTHER = {"Sing": "Plur", "Plur": "Sing", "Masc": "Fem", "Fem": "Masc"}


@pytest.fixture(scope="module")
def small():
    return Paradigms(lexicon.load([str(TABLE)], folder=Path))


def features(feats):
    return dict(pair.split("=") for pair in feats.split("|") if pair)


def check_involution(paradigms, forms):
    """Flip every reading of some forms there and back; how many could be flipped comes back."""
    flipped = 0
    for form in forms:
        for reading in paradigms.lexicon.analyses(form):
            given = features(reading.feats)
            for name in {"Number", "Gender"} & given.keys():
                value = OTHER[given[name]]
                other = paradigms.flip(form, reading.upos, given, name, value)
                if other is None:
                    continue
                flipped += 1
                turned = {**given, name: value}
                assert paradigms.flip(other, reading.upos, turned, name, given[name]) == form
                decisive = {"Gender", "Number", "Person"}
                if given.get("VerbForm") == "Part":  # no finite verb stands in its place
                    decisive.add("VerbForm")
                agreeing = {n: given[n] for n in decisive if n in given}
                assert not paradigms.readings(other, reading.upos, agreeing), "wrong in its place"
                lemmas = {r.lemma for r in paradigms.readings(form, reading.upos, given)}
                turned_readings = paradigms.readings(other, reading.upos, turned)
                assert lemmas & {r.lemma for r in turned_readings}, "of the same lemma"
    return flipped


def test_flipping_is_an_involution(small):
    assert check_involution(small, list(small.lexicon)) > 20


def test_a_subjunctive_is_flipped_to_the_indicative_of_its_person(tmp_path):
    third, first = ("Number=Sing|Person=3|Tense=Pres", "Number=Sing|Person=1|Tense=Pres")
    rows = [
        f"sache\tsavoir\tVERB\tMood=Sub|{third}",
        f"sait\tsavoir\tVERB\tMood=Ind|{third}",
        f"sais\tsavoir\tVERB\tMood=Ind|{first}",
        f"mange\tmanger\tVERB\tMood=Sub|{third}",
        f"mange\tmanger\tVERB\tMood=Ind|{third}",
    ]
    (tmp_path / "verbs.tsv").write_text("form\tlemma\tupos\tfeats\n" + "\n".join(rows))
    verbs = Paradigms(lexicon.load([str(tmp_path / "verbs.tsv")], folder=Path))
    given = {"Mood": "Sub", "Person": "3", "Number": "Sing"}
    assert verbs.flip("sache", "VERB", given, "Mood", "Ind") == "sait"
    assert verbs.flip("mange", "VERB", given, "Mood", "Ind") is None


@pytest.mark.parametrize("every", [4000, pytest.param(500, marks=pytest.mark.long)])
def test_flipping_is_an_involution_on_a_real_lexicon(fetched, every):
    dela = lexicon.load(["closed", "dela"], folder=fetched)
    forms = sorted(dela)[::every]
    assert check_involution(Paradigms(dela), forms) > len(forms) / 3


@pytest.mark.parametrize(
    ("form", "upos", "given", "feature", "value", "expected"),
    [
        ("est", "AUX", {"Number": "Sing", "Person": "3"}, "Number", "Plur", "sont"),
        ("dort", "VERB", {"Number": "Sing", "Person": "3"}, "Person", "2", "dors"),
        ("le", "DET", {"Gender": "Masc", "Number": "Sing"}, "Gender", "Fem", "la"),
        ("souris", "NOUN", {"Number": "Sing"}, "Number", "Plur", None),  # the same form
        ("finit", "VERB", {"Number": "Sing", "Person": "3"}, "Number", "Plur", None),  # two forms
        ("rouge", "ADJ", {"Gender": "Masc", "Number": "Sing"}, "Gender", "Fem", None),
        ("du", "DET", {"Gender": "Masc", "Number": "Sing"}, "Gender", "Fem", None),  # two words
        ("chat", "NOUN", {"Number": "Sing"}, "Number", "Plur", None),  # not known
    ],
)
def test_a_form_flips_where_exactly_one_other_is_wrong_in_its_place(
    small, form, upos, given, feature, value, expected
):
    assert small.flip(form, upos, given, feature, value) == expected
