"""`accord page`: which models it offers, and what it says where there are none."""

import json
import shutil

from typer.testing import CliRunner

import corpora
import pipeline
from pipeline.cli.main import app
from pipeline.cli.page import _loaders
from pipeline.page import load
from pipeline.page.bench import measure


def test_the_models_of_a_run_are_offered_by_name_with_the_last_first(tiny_run, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(tiny_run.folder, other)
    assert list(_loaders([tiny_run.folder])) == ["ll-rnn", "rnn"]
    offered = ["tiny/ll-rnn", "tiny/rnn", "other/ll-rnn", "other/rnn"]
    assert list(_loaders([tiny_run.folder, other])) == offered


def test_without_a_trained_model_it_ends_with_a_word(tmp_path):
    begun = pipeline.run("tiny", until="corpus", runs=tmp_path).folder
    for folder, said in (
        (begun, "is not finished: expected a trained model"),
        (tmp_path / "none", "is no run: expected"),
    ):
        done = CliRunner().invoke(app, ["page", "--run", str(folder), "--port", "0"])
        assert done.exit_code == 1
        assert said in done.stderr
        assert not done.stdout  # no address of a page that cannot answer


def test_the_bench_waits_for_the_page_and_for_each_sentence(tiny_run):
    waits = measure([tiny_run.folder], ["Les chiens dorment.", "Le chat dort."])
    assert 0 < waits.page < waits.answer
    assert len(waits.sentences) == 2


def test_load_asks_all_questions_twice_and_compares_the_answers(tiny_run):
    texts = ["Les chiens dorment.", "Le chat dort."]
    found = load.measure([tiny_run.folder], texts, 40, askers=4)
    assert len(found.in_a_row.answers) == len(found.at_once.waits) == 40
    assert not load.differing(found)
    assert load.differing(found._replace(at_once=found.at_once._replace(answers=[b""] * 40)))


def test_load_asks_each_question_once():
    texts = [sentence.text for sentence in corpora.read("tiny")]
    given = load.questions("french", texts, ["form"], 1100)
    assert len({json.dumps(question) for question in given}) == len(given)
