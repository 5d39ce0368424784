"""A loaded model answers by itself what the functions answer of it."""

from pathlib import Path

import pandas as pd
import pytest

import accord
from accord.models.common.registry import imported
from accord.pipeline.compare.agreement import accuracy, groups, judged
from accord.pipeline.evaluation.suites import read_suite
from accord.pipeline.inference.explain import Explainer, split
from accord.pipeline.inference.generate import Generator
from accord.pipeline.inference.scorer import ANSWERS
from accord.pipeline.inference.vectors import ReadVectors

SENTENCE = "La petite fille mange."


@pytest.fixture(scope="module")
def french():
    return accord.load()


def test_every_question_has_a_function():
    assert all(map(callable, map(imported, ANSWERS.values())))


def test_it_says_which_model_it_is(french, tiny_run, tmp_path):
    assert repr(french).startswith("<Accord: bundled model 'french', 821,")
    assert repr(french).endswith("parameters, protocol open>")
    of_run = repr(accord.load(tiny_run.folder, "rnn"))
    assert of_run.startswith(f"<Accord: run model 'rnn' of {tiny_run.folder}, ")
    arpa = accord.export(tiny_run.folder, "rnn", tmp_path / "rnn.arpa", order=1)
    assert repr(accord.load(arpa)).startswith("<Accord: arpa model 'rnn.arpa', ")


def test_surprisal_is_asked_of_a_sentence_of_several_and_of_a_table(french, tmp_path):
    words = french.surprisal(SENTENCE)
    assert words["word"].tolist() == ["La", "petite", "fille", "mange", "."]
    table = pd.DataFrame({"sentence": [SENTENCE, "Le chat dort."]})
    expected = accord.surprisal(table, french)
    pd.testing.assert_frame_equal(french.surprisal(table["sentence"].tolist()), expected)
    pd.testing.assert_frame_equal(french.surprisal(table), expected)
    assert expected["surprisal"].head(5).tolist() == pytest.approx(words["surprisal"].tolist())
    table.to_csv(tmp_path / "text.csv", index=False)
    pd.testing.assert_frame_equal(french.surprisal(tmp_path / "text.csv"), expected)
    named = french.surprisal(SENTENCE, column="phrase", expect=["Number"])
    assert {"phrase", "p_Number_Plur"} <= {*named}


def test_what_is_expected_is_that_of_the_features_asked_for(french):
    found = french.expect("Les petites …", "Number", "Gender")
    expected = accord.expect("Les petites …", french, ["Number", "Gender"])
    pd.testing.assert_frame_equal(found, expected)
    assert found["Number=Plur"].iloc[-1] > 0.5
    pd.testing.assert_frame_equal(french.expect(SENTENCE), accord.expect(SENTENCE, french))


def test_words_are_explained_or_the_likeliest_where_none_are_named(french):
    place = Explainer(french).next_word("la petite", ["galerie", "fille"], 4)
    pd.testing.assert_frame_equal(
        french.explain("la petite", "galerie", "fille"), split(place.asked)
    )
    pd.testing.assert_frame_equal(french.explain("la petite", most=4), split(place.likeliest))


@pytest.mark.slow
def test_sentences_are_generated_with_all_that_can_be_asked_of_them(french):
    assert french.generate("Le chat", 2, seed=3) == Generator(french, "Le chat").sample(2, seed=3)
    (best,) = french.generate("Le", 1, beam=2, constraints=["NOUN Gender=Fem Number=Plur"])
    (expected,) = Generator(french, "Le", ["NOUN Gender=Fem Number=Plur"]).likeliest(1, 2)
    assert best == expected
    with pytest.raises(ValueError, match="searches and draws nothing"):
        french.generate(beam=2, temperature=0.5)


def test_neighbours_are_those_of_its_vectors(french):
    pd.testing.assert_frame_equal(french.nearest("chat", 3), ReadVectors(french).nearest("chat", 3))


def test_agreement_is_that_of_the_command(french, tmp_path):
    suite = tmp_path / "pairs.csv"
    suite.write_text(
        "good,bad,construction\nles chats dorment,les chats dort,simple\n"
        "le chat dort,le chat dorment,simple\n"
    )
    found = french.agree(str(suite))
    pairs = read_suite(str(suite))
    of_command = judged([Path("french")], pairs)
    expected = accuracy(of_command, groups(pairs, "construction"), 0).drop(columns="model")
    pd.testing.assert_frame_equal(found, expected)
    assert found["share"].tolist() == [1.0] and found["pairs"].tolist() == [2]
