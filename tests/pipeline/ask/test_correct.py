"""Corrections: right sentences stay, planted errors are repaired, reasons sum to the bits."""

import csv
import json
import math
from pathlib import Path

import pytest
from cli_cases import answered, invoked
from hypothesis import given
from hypothesis import strategies as st

import accord
from accord.lexicon.homophones import Homophones, Spoken
from accord.pipeline.ask.correct import (
    AFTERWARDS,
    KINDS,
    Candidates,
    Change,
    Corrector,
    Prior,
    Search,
    changed,
    corrected,
    corrections,
)
from accord.pipeline.ask.explain import SPELLED
from accord.pipeline.ask.planted import AGREEMENT, HOMOPHONE, Judged, edits, figures, plant
from accord.pipeline.ask.scorer import bundled

DATA = Path(__file__).parents[2] / "data"
SOUNDS = [
    *(Spoken("petite", "p°tit", 9.0), Spoken("petites", "p°tit", 5.0)),
    *(Spoken("fille", "fij", 9.0), Spoken("filles", "fij", 5.0)),
    *(Spoken("et", "e", 900.0), Spoken("est", "e", 500.0)),
]
RIGHT = [
    "La petite fille mange une pomme.",
    "Les enfants jouent dans le jardin.",
    "Il a décidé de partir à Paris avec ses parents.",
]
REPAIRED = {
    "Les enfant mange des pomme.": "Les enfants mangent des pommes.",
    "Il c'est trompé, ils on mangé ces pomme.": "Il s'est trompé, ils ont mangé ces pommes.",
    "Elle est très content.": "Elle est très contente.",
    "Ses vrai que sa va mieux.": "C'est vrai que ça va mieux.",
}
FREE = Prior(dict.fromkeys(KINDS, 0.0))


@pytest.fixture(scope="module", params=["rnn", "ll-rnn"])
def corrector(trained, request):
    return Corrector(accord.load(trained, request.param), Homophones.of_rows(SOUNDS))


def log_p(scorer, *sentences):
    return scorer.log_p([*map(scorer.cased, sentences)]).tolist()


def test_candidates_sound_the_same_or_agree_otherwise(corrector):
    candidates = corrector.candidates
    assert "est" in candidates.instead_of("et"), "a homophone"
    assert {"petit", "petits", "petites"} <= candidates.instead_of("petite").keys()
    assert "mangent" in candidates.instead_of("mange"), "another person or number"
    assert "manger" not in candidates.instead_of("mange"), "another mood"
    assert "le" not in candidates.instead_of("du"), "a contraction is no form of its parts"
    assert not candidates.instead_of("xyzzy") and not candidates.instead_of(",")
    changes = candidates.at_each(["Petite", "Fille"])
    assert changes[0] and not changes[1], "a capital inside a sentence may be a name"
    assert all(change.words[0][0] == "P" for change in changes[0])


def test_kinds_of_changes_say_what_a_mistake_is(corrector):
    kinds = corrector.candidates.instead_of
    assert kinds("petite")["petites"] == ("change",), "nobody hears it"
    assert "audible" in kinds("petite")["petit"]
    assert "noun" in kinds("fille")["filles"] and "noun" not in kinds("petite")["petites"]
    assert "other word" in kinds("et")["est"]
    real = Candidates(bundled())
    assert (
        "pronoun" in real.instead_of("elle")["il"] and "pronoun" not in real.instead_of("il")["ils"]
    )
    assert "tense" in real.instead_of("manger")["mangé"]
    assert any(each.words == ("c'", "est") for each in real.at_each(["ses"])[0])
    assert any(each[:3] == (0, 2, ("ces",)) for each in real.at_each(["c'", "est"])[0])


@pytest.mark.parametrize("prior", [Prior(), FREE], ids=["prior", "free"])
def test_no_search_result_scores_below_the_text_and_log_p_is_that_of_the_scorer(corrector, prior):
    words = ["la", "petite", "filles", "mange", "une", "pomme", "."]
    found = Search(corrector.scorer, words, corrector.candidates.at_each(words), prior).best()
    assert () in [each.changes for each in found], "the text itself"
    assert [each.score for each in found] == sorted((e.score for e in found), reverse=True)
    sentences = [changed(words, each.changes) for each in found]
    for each, whole in zip(found, log_p(corrector.scorer, *sentences), strict=True):
        assert each.log_p == pytest.approx(whole, abs=1e-3)
        costs = sum(prior.cost(change) for change in each.changes)
        assert each.score == pytest.approx(each.log_p - costs, abs=1e-6)


def test_a_wide_search_finds_the_best_of_all_sentences(corrector):
    words = ["la", "petite", "filles", "mange"]
    steps = corrector.candidates.at_each(words)
    found = Search(corrector.scorer, words, steps, FREE, width=10_000).best()[0]
    every = [words]
    for place in range(len(words)):
        others = [each.words[0] for each in steps[place] if len(each.words) == 1]
        every += [[*w[:place], other, *w[place + 1 :]] for w in every for other in others]
    assert found.log_p >= max(log_p(corrector.scorer, *every)) - 1e-3


def test_every_change_that_stays_gains_more_than_it_costs(corrector):
    words = ["les", "petite", "fille", "mange", "une", "pomme", "."]
    for prior in (FREE, Prior().stricter(-3), Prior()):
        kept = corrector.meant(words, prior)
        for each in kept:
            rest = [other.change for other in kept if other != each]
            whole, without = log_p(
                corrector.scorer, changed(words, [*rest, each.change]), changed(words, rest)
            )
            assert whole - without > prior.cost(each.change) - 1e-4
    assert corrector.meant(words, Prior().stricter(math.inf)) == []


@pytest.mark.parametrize("text", RIGHT)
def test_right_sentences_stay(text):
    assert corrections(bundled(), text) == []


@pytest.mark.parametrize(("text", "meant"), REPAIRED.items())
def test_several_errors_are_repaired_together(text, meant):
    found = corrections(bundled(), text)
    assert corrected(text, found) == meant
    for each in found:
        assert text[each.start : each.end] == each.wrong
        assert each.bits == pytest.approx(sum(each.reasons.values()), abs=1e-9)
        assert each.bits > 0


def test_the_bits_of_a_change_are_a_difference_of_log_p_and_its_reasons_sum_to_it():
    scorer = bundled()
    text = "Les enfants jouent. Ils on mangé une pomme. La fille dort."
    (found,) = corrections(scorer, text)
    assert (found.wrong, found.right) == ("on", "ont"), "of several sentences"
    before, after = log_p(
        scorer, *(["ils", word, "mangé", "une", "pomme", "."] for word in ("on", "ont"))
    )
    assert found.bits == pytest.approx((after - before) / math.log(2), abs=1e-3)
    assert found.reasons[AFTERWARDS] > 0


def test_what_spelling_gives_a_word_is_a_reason_of_its_own():
    """A rare form has most of its probability by its letters; no other reason may hide that."""
    corrector = Corrector(bundled())
    words, change = ["la", "petite", "galeriez"], Change(2, 3, ("galerie",), ("change",))
    (kept,) = corrector.gains(words, (change,), {})
    reasons = corrector.reasons(words, [change], kept)
    assert reasons[SPELLED] < -1
    assert sum(reasons.values()) == pytest.approx(kept.gain / math.log(2), abs=1e-4)


def test_planted_errors_are_as_many_as_asked_for_and_the_same_again():
    candidates = Candidates(bundled())
    words = [
        ["La", "petite", "fille", "et", "le", "chat", "dorment", "dans", "la", "maison"],
        ["Paris", "Lyon", "Nice", "Brest", "Metz"],
    ] * 12
    table = plant(words, candidates, errors=3)
    assert len(table) == 12, "in names nothing is planted"
    differ = [len(edits(r.bad.split(), r.good.split())) for r in table.itertuples()]
    assert differ == [1, 2, 3] * 4
    assert {*table["construction"]} <= {AGREEMENT, HOMOPHONE, "two_errors", "three_errors"}
    assert table.equals(plant(words, candidates, errors=3))
    assert len(plant(words, candidates, limit=5)) == 5
    with pytest.raises(ValueError, match="expected sentences with words that can be taken"):
        plant(words[1:2], candidates)


WORDS = st.lists(st.sampled_from(["le", "la", "les", "chat", "chats"]), max_size=6)


@given(WORDS, WORDS)
def test_the_changes_between_sentences_turn_one_into_the_other(one, other):
    made = [Change(*each, ("change",)) for each in edits(one, other)]
    assert changed(one, made) == other


def test_figures_are_counted_as_they_are_defined():
    judged = [
        Judged("a", errors=2, made=2, right=1),
        Judged("a", errors=1, made=1, right=1),
        Judged("no error", errors=0, made=1, right=0),
        Judged("no error", errors=0, made=0, right=0),
    ]
    found = figures(judged)
    assert (found["precision"], found["recall"]) == (2 / 4, 2 / 3)
    assert found["F0.5"] == pytest.approx(1.25 * 0.5 * (2 / 3) / (0.25 * 0.5 + 2 / 3))
    assert (found["exact"], found["false alarms per 1,000"]) == (0.5, 500)
    assert Judged.of_text(("a", ["les", "chat"], ["les", "chats"]), ["le", "chat"]) == (
        "a",
        1,
        1,
        0,
    )


@pytest.mark.slow
def test_real_mistakes_are_mostly_found_and_right_sentences_stay():
    """The kinds that people report to French checkers; results/log/homophones.md has all."""
    rows = [*csv.DictReader((DATA / "mistakes.csv").open(encoding="utf-8"))]
    assert len(rows) == 30
    found = 0
    for row in rows[::5]:
        result = corrected(row["bad"], corrections(bundled(), row["bad"]))
        assert result in (row["good"], row["bad"]), "no word is made wrong"
        assert corrections(bundled(), row["good"]) == []
        found += result == row["good"]
    assert found >= 4


def test_the_command_corrects_the_same_by_an_exported_model(trained, tmp_path):
    sentence = "La petites fille mange une pomme."
    command = ["correct", sentence, "--run", str(trained), "--margin", "-3"]
    done = answered(*command, "--json")
    found = json.loads(done.output)["suggestions"]
    assert "petites" in {sentence[each["start"] : each["end"]] for each in found}
    assert all(sum(each["reasons"].values()) == pytest.approx(each["bits"]) for each in found)
    small = accord.export(trained, "ll-rnn", tmp_path / "small", compact=True)
    asked = ["correct", sentence, "--run", str(small), "--margin", "-3", "--json"]
    of_small = json.loads(invoked(*asked).output)["suggestions"]
    assert [each["right"] for each in of_small] == [each["right"] for each in found]
