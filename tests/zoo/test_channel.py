"""The channels: what was said is always among what may have been heard, and scored like it."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from accord.lexicon.homophones import Homophones, Spoken
from accord.pipeline.cli.main import app
from accord.zoo.lattices import COST, Channel, read_lists, read_nbest

SOUNDS = [
    *(Spoken("la", "la", 100.0), Spoken("là", "la", 10.0)),
    *(Spoken("l'", "l", 80.0), Spoken("a", "a", 60.0), Spoken("à", "a", 90.0)),
    *(Spoken("chat", "Sa", 5.0), Spoken("char", "SaR", 4.0)),
]
WORDS = st.lists(st.sampled_from(["la", "l'", "a", "chat", ",", "Zoé"]), min_size=1, max_size=6)


@given(WORDS, st.booleans())
def test_what_was_said_may_have_been_heard(words, spelling):
    lattice = Channel(Homophones.of_rows(SOUNDS), spelling).lattice("u", words)
    found = lattice.nbest(10**6)
    assert " ".join(words) in found.texts
    assert all(one >= other for one, other in pairwise(found.scores))


def test_a_word_becomes_what_sounds_the_same_alone_or_with_an_elided_one():
    channel = Channel(Homophones.of_rows(SOUNDS))
    assert set(channel.lattice("u", ["la"]).nbest(9).texts) == {"la", "là", "l' a", "l' à"}
    assert set(channel.lattice("u", ["l'", "a"]).nbest(9).texts) == {"la", "là", "l' a", "l' à"}


def test_with_a_vocabulary_no_other_words_are_heard():
    channel = Channel(Homophones.of_rows(SOUNDS), spelling=True, vocabulary={"là", "l'", "à"})
    assert set(channel.lattice("u", ["la"]).nbest(9).texts) == {"la", "là", "l' à"}
    assert set(channel.lattice("u", ["chat"]).nbest(9).texts) == {"chat"}


def test_scores_are_frequencies_and_a_letter_costs():
    found = Channel(Homophones.of_rows(SOUNDS), spelling=True).lattice("u", ["chat"]).nbest(9)
    scores = dict(zip(found.texts, found.scores, strict=True))
    assert scores["chat"] == pytest.approx(math.log(5e-6))
    assert scores["char"] == pytest.approx(math.log(4e-6) - COST)


@pytest.mark.slow
def test_lists_of_a_text_are_made_and_read(tmp_path):
    text, lists = tmp_path / "text.txt", tmp_path / "new" / "lists.jsonl"
    text.write_text("Elle est partie.\nCes 50 000 enfants chantent.\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["rescore", str(lists), "--make", str(text), "--size", "20"])
    assert done.exit_code == 0, done.output
    first, second = read_nbest(lists)
    assert first.reference == "elle est partie ."
    assert "elle est parti ." in first.texts
    assert "ses 50 000 enfants chante ." in second.texts
    lattices = tmp_path / "lattices.lat"
    done = CliRunner().invoke(app, ["rescore", str(lattices), "--make", str(text)])
    assert done.exit_code == 0, done.output
    again = read_lists(lattices)
    assert [each.reference for each in again] == [first.reference, second.reference]
    assert again[1].texts[:20] == second.texts
