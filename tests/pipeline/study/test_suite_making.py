"""Suites made from trees and from text: real sentences, one word flipped, the rest kept."""

from pathlib import Path

import pandas as pd
import pytest

from accord import lexicon
from accord.pipeline.data.catalogue import folder_of
from accord.pipeline.model.suites import read_suite
from accord.pipeline.study.suite_making import make_suite

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


TEXT = """
Il oublie les échecs qu'ils ont subis.
Elle regarde la fenêtre qu'il n'avait pas encore fermée.
Nous les avons vus ensemble.
Vous la leur avez donnée.
Bien qu'il soit malade, il vient.
Il ne faut pas que les enfants aient peur.
Elle attend jusqu'à ce que l'on puisse sortir.
Quoique le roi fût malade, je riais.
"""
DOUBTFUL = """
Il y a un an que je vous ai guéri.
Les airs que j'ai entendu jouer.
La série des livres qu'il a lus.
Il l'a vue.
La robe qu'il a fait faire.
Nous les avons vus s'armer.
Quel dommage qu'on ait aboli les jeux.
Il comprend bien que j'aie peur.
Je crois qu'il est malade.
Pour que tu parles, il paie.
"""  # que is no object, the infinitive has it, lue, a man, faire; indicatives and what may be one


@pytest.fixture(scope="module")
def of_text(fetched, tmp_path_factory):
    """The pairs of participles and moods of both texts, each with its row of the table."""
    folder = tmp_path_factory.mktemp("text")
    fetched("lexique")
    words = lexicon.load(["closed", "lexique"], folder=folder_of)
    (folder / "text.txt").write_text(TEXT + DOUBTFUL, encoding="utf-8")
    table = make_suite(str(folder / "text.txt"), words, folder / "suite")
    rows = zip(read_suite(str(folder / "suite")).pairs, table.itertuples(), strict=True)
    chosen = ("participle", "subjunctive")
    return {flipped(pair): row for pair, row in rows if pair.construction.startswith(chosen)}


def test_a_participle_of_a_text_agrees_with_an_object_before_it(of_text):
    found = {each: row for each, row in of_text.items() if each[0].startswith("participle")}
    assert {*found} == {
        ("participle_object_number", "subis", "subi"),
        ("participle_object_gender", "subis", "subies"),
        ("participle_object_number", "fermée", "fermées"),
        ("participle_object_gender", "fermée", "fermé"),
        ("participle_object_number", "vus", "vu"),
        ("participle_object_number", "donnée", "données"),
        ("participle_object_gender", "donnée", "donné"),
    }
    row = found["participle_object_number", "subis", "subi"]
    assert (row.distance, row.attractors) == (3, 0)  # qu'ils ont
    row = found["participle_object_gender", "fermée", "fermé"]
    assert (row.distance, row.attractors) == (6, 1)  # il is masculine


def test_a_subjunctive_of_a_text_is_asked_for_by_its_trigger(of_text):
    found = {
        each: (row.trigger, row.distance)
        for each, row in of_text.items()
        if each[0].startswith("subjunctive")
    }
    assert found == {
        ("subjunctive_mood", "soit", "est"): ("bien que", 1),
        ("subjunctive_mood", "aient", "ont"): ("il faut que", 2),
        ("subjunctive_mood", "puisse", "peut"): ("jusqu'à ce que", 2),
        ("subjunctive_imperfect_mood", "fût", "était"): ("quoique", 2),
    }


def test_a_folder_that_holds_something_is_refused(accords, tmp_path):
    older = tmp_path / "older_construction.txt"
    older.write_text("True\tIl dort .\nFalse\tIl dorment .\n")
    with pytest.raises(ValueError, match="is not empty: expected a new folder"):
        make_suite(str(DATA / "accords.conllu"), accords, tmp_path)
    assert [*tmp_path.iterdir()] == [older]
