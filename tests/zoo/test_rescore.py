"""`accord rescore`: agreement repairs what a recogniser confuses; bad lists are named by line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import accord
from accord.pipeline.cli.main import app
from accord.zoo.lattices import Terms, Weights, distance, error_rate, read_nbest, tuned

DATA = Path(__file__).parents[1] / "data"
WORDS = st.lists(st.sampled_from("abc"), max_size=6)


def test_tuned_weights_repair_agreement_in_other_sentences(trained):
    files = [str(DATA / "test.nbest.jsonl"), "--tune", str(DATA / "dev.nbest")]
    command = ["rescore", *files, "--run", str(trained), "--model", "ll-rnn"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "word error rate: 20.00% before" in done.output
    after = float(done.output.split("before, ")[1].split("%")[0])
    assert after < 20
    assert "t2 ||| les petites filles dorment" in done.output


def test_no_weights_of_the_grid_are_better_than_the_tuned_ones(trained):
    lists = read_nbest(DATA / "dev.nbest")
    terms = Terms.scored(lists, accord.load(trained, "ll-rnn"))
    best = error_rate(lists, tuned(lists, terms).best(terms))
    assert best < error_rate(lists, Weights(0, 0).best(terms))
    for model in (0.1, 0.3, 1, 3):
        assert best <= error_rate(lists, Weights(model, 0).best(terms)) + 1e-9


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a ||| le chat ||| -1\n\na le chat", r"line 3: expected ID \|\|\| HYPOTHESIS"),
        ("a ||| le chat ||| -1 nan", "line 1: expected finite numbers as scores.* found -1 nan"),
        ('{"id": 1, "hypotheses": [', "line 1: expected JSON, but"),
        ("a ||| le chat ||| reference", "expected hypotheses, but 'a' has none"),
    ],
)
def test_bad_lists_are_refused_by_line(content, message, tmp_path):
    path = tmp_path / "bad.nbest"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as refusal:
        read_nbest(path)
    assert str(path) in str(refusal.value)


@given(WORDS, WORDS, WORDS)
def test_the_distance_is_a_metric(one, two, three):
    assert (distance(one, two) == 0) == (one == two)
    assert distance(one, two) == distance(two, one)
    assert distance(one, three) <= distance(one, two) + distance(two, three)
    assert abs(len(one) - len(two)) <= distance(one, two) <= max(len(one), len(two))
