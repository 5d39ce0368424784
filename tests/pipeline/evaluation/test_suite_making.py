"""Suites made from trees and from text: real sentences, one word flipped, the rest kept."""

from pathlib import Path

import pandas as pd
import pytest

from accord import lexicon
from accord.pipeline.evaluation.suite_making import make_suite
from accord.pipeline.evaluation.suites import read_suite

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture(scope="module")
def accords():
    return lexicon.load([str(DATA / "accords.tsv")], folder=Path)


def flipped(pair):
    """The two words in which the sentences of a pair differ; they have all others in common."""
    words = zip(pair.good.split(" "), pair.bad.split(" "), strict=True)
    ((right, wrong),) = [(good, bad) for good, bad in words if good != bad]
    return pair.construction, right, wrong


def test_every_agreement_of_a_tree_is_broken_and_none_that_is_doubtful(accords, tmp_path):
    table = make_suite(str(DATA / "accords.conllu"), accords, tmp_path)
    pairs = read_suite(str(tmp_path)).pairs
    assert {flipped(pair) for pair in pairs} == {
        ("determiner_noun_number", "clés", "clé"),
        ("determiner_noun_number", "pomme", "pommes"),
        ("determiner_noun_number", "moitié", "moitiés"),
        ("noun_adjective_number", "rouge", "rouges"),
        ("participle_etre_number", "tombées", "tombée"),
        ("participle_etre_gender", "tombées", "tombés"),
        ("participle_object_number", "mangée", "mangées"),
        ("participle_object_gender", "mangée", "mangé"),
        ("subject_verb_number", "sont", "est"),
        ("subject_verb_number", "est", "sont"),
        ("subject_verb_person", "as", "a"),
        ("subject_verb_person", "est", "es"),
    }
    assert table["construction"].tolist() == [pair.construction for pair in pairs]
    assert pd.read_csv(tmp_path / "pairs.csv").equals(table)
    assert "du" in pairs[0].good.split(" "), "contracted forms are one word"


def test_sentences_are_spelled_as_texts_are_read(accords, tmp_path):
    trees = (DATA / "accords.conllu").read_text(encoding="utf-8")
    (tmp_path / "typeset.conllu").write_text(trees.replace("voisin", "cœur"), encoding="utf-8")
    make_suite(str(tmp_path / "typeset.conllu"), accords, tmp_path / "suite")
    pairs = read_suite(str(tmp_path / "suite")).pairs
    assert "Les clés du coeur rouge ne sont pas tombées ." in {pair.good for pair in pairs}


def test_distance_and_attractors_are_those_between_the_two_words(accords, tmp_path):
    table = make_suite(str(DATA / "accords.conllu"), accords, tmp_path)
    pairs = [flipped(pair) for pair in read_suite(str(tmp_path)).pairs]
    row = table.loc[pairs.index(("subject_verb_number", "sont", "est"))]
    assert (row["distance"], row["attractors"]) == (4, 1)  # du voisin rouge ne
    row = table.loc[pairs.index(("subject_verb_number", "est", "sont"))]
    assert (row["distance"], row["attractors"]) == (4, 0)  # que tu as mangée


def test_a_text_without_trees_is_asked_only_what_is_beyond_doubt(accords, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("Il dort.\nLes clés rouges.\nLe voisin finit.\nLa souris dort.\n")
    make_suite(str(text), accords, tmp_path / "suite")
    assert {flipped(pair) for pair in read_suite(str(tmp_path / "suite")).pairs} == {
        ("subject_verb_number", "dort", "dorment"),
        ("subject_verb_person", "dort", "dors"),
        ("determiner_noun_number", "clés", "clé"),
        ("noun_adjective_number", "rouges", "rouge"),
        ("determiner_noun_number", "voisin", "voisins"),
    }


def test_where_there_is_nothing_to_flip_the_source_is_named(accords, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("Hello world.\n")
    with pytest.raises(ValueError, match=r"text\.txt: found no agreement to break"):
        make_suite(str(text), accords, tmp_path / "suite")


def test_a_folder_that_holds_something_is_refused(accords, tmp_path):
    older = tmp_path / "older_construction.txt"
    older.write_text("True\tIl dort .\nFalse\tIl dorment .\n")
    with pytest.raises(FileExistsError, match="is not empty: expected a new folder"):
        make_suite(str(DATA / "accords.conllu"), accords, tmp_path)
    assert [*tmp_path.iterdir()] == [older]
