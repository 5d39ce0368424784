"""The page is measured as `accord page` serves it, alone and under load."""

import json

from accord.corpora import sources
from benchmarks.page import differing, measure_crowd, measure_load, measure_waits, questions


def test_the_bench_waits_for_the_page_and_for_each_sentence(tiny_run):
    waits = measure_waits([tiny_run.folder], ["Les chiens dorment.", "Le chat dort."])
    assert 0 < waits.page < waits.answer
    assert len(waits.sentences) == 2


def test_load_asks_all_questions_twice_and_compares_the_answers(tiny_run):
    texts = ["Les chiens dorment.", "Le chat dort."]
    found = measure_load([tiny_run.folder], texts, 40, askers=4)
    assert len(found.in_a_row.answers) == len(found.at_once.waits) == 40
    assert not differing(found)
    assert differing(found._replace(at_once=found.at_once._replace(answers=[b""] * 40)))


def test_a_crowd_asks_beside_each_of_the_worst_texts(tiny_run, monkeypatch):
    monkeypatch.setattr("benchmarks.page.WORST", {"blanks": "la" + " " * 16_000 + "fin"})
    (found,) = measure_crowd([tiny_run.folder], ["Le chat dort."], askers=5)
    assert (found.text, len(found.waits)) == ("blanks", 4)
    assert 0 < max(found.waits) < found.seconds


def test_load_asks_each_question_once():
    texts = [sentence.text for sentence in sources.read("tiny")]
    given = questions("french", texts, ["form"], 1100)
    assert len({json.dumps(question) for question in given}) == len(given)
