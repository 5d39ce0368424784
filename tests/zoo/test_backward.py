"""A model that reads backwards, beside one that reads forwards, and weights that follow a text."""

import json
from pathlib import Path

import pytest
from cli_cases import answered

import accord
from accord.models.inference.torch_model import Backward
from accord.pipeline.ask.correct import Corrector, Prior
from accord.pipeline.base.names import FIGURES
from accord.pipeline.model.find import one
from accord.zoo.lattices import Terms, read_nbest

pytestmark = pytest.mark.slow
DATA = Path(__file__).parents[1] / "data"
SENTENCE = "la petite fille mange une pomme ."


@pytest.fixture(scope="module")
def run(run_once) -> Path:
    """`rnn` reads forwards, `ll-rnn` backwards."""
    settings = {"train.epochs": 3, "ll-rnn.train.text": "backward", "rnn.featurise.forms": 60}
    return run_once("backward", set=settings, until="evaluate").folder


def invoked(*command: str) -> str:
    done = answered(*command)
    return done.output


def test_it_is_trained_and_scored_on_sentences_backwards(run):
    scorer = accord.load(run, "ll-rnn")
    assert isinstance(scorer.model, Backward)
    assert [word.form for word in scorer.score(SENTENCE)[:-1]] == SENTENCE.split()
    batch, _ = scorer.encoded([SENTENCE.split()])
    turned = scorer.model.model.score(batch.backwards())
    assert scorer.model.score(batch)[:-1] == pytest.approx(turned[:-1][::-1], abs=1e-5)
    figures = one(run, "ll-rnn").folders["evaluate"] / FIGURES
    assert 5 < json.loads(figures.read_text(encoding="utf-8"))["test"]["perplexity"] < 200


def test_both_directions_have_a_pseudo_perplexity(run):
    table = invoked("combine", f"{run}/rnn", f"{run}/ll-rnn", "--bidirectional").splitlines()
    row = dict(zip(*(line.strip("| ").split("|") for line in (table[0], table[-1])), strict=True))
    forward, backward, both = (float(each) for each in [*row.values()][2:])
    assert both < min(forward, backward)


def test_a_backward_model_has_half_of_the_say(run):
    lists = read_nbest(DATA / "dev.nbest")
    models = [accord.load(run, name) for name in ("rnn", "ll-rnn")]
    alone = [Terms.scored(lists, model).log_p for model in models]
    assert Terms.scored(lists, *models).log_p == pytest.approx((alone[0] + alone[1]) / 2)
    shown = invoked(
        *("rescore", str(DATA / "dev.nbest"), "--run", str(run), "--model", "rnn"),
        *("--backward", f"{run}/ll-rnn"),
    )
    assert "mean reciprocal" in shown
    corrector = Corrector(models[0], backward=models[1])
    (log_p,) = corrector.log_p([SENTENCE.split()])
    sums = [sum(word.log_p for word in model.score(SENTENCE)) for model in models]
    assert log_p == pytest.approx(sum(sums) / 2, abs=1e-4)
    for kept in corrector.meant(["les", "petite", "fille", "dorment", "."], Prior()):
        assert kept.gain > Prior().cost(kept.change)


def test_dynamic_evaluation_is_an_option_of_score_that_says_so(run, tmp_path):
    file = tmp_path / "text.txt"
    file.write_text(f"{SENTENCE}\n" * 30, encoding="utf-8")
    command = ["score", str(file), "--run", str(run), "--model", "rnn"]
    plain, dynamic = invoked(*command), invoked(*command, "--dynamic", "0.5")
    assert "the weights follow the text" in dynamic and "follow" not in plain
    first, last = (float(dynamic.splitlines()[at].split()[0]) for at in (2, -2))
    assert f"{first:.2f}" in plain
    assert last > first + 1, "a sentence that was read 29 times has become likelier"
