"""Agreement suites: read strictly, judged by the model, nothing dropped in silence."""

import pytest

from pipeline.agreement import judge, read_pairs
from pipeline.api import load

PAIRS = """True\tla fille mange une pomme
False\tla fille mangent une pomme
True\tles chats dorment
False\tles chats dort
"""


@pytest.fixture
def suite(tmp_path):
    (tmp_path / "simple.txt").write_text(PAIRS, encoding="utf-8")
    return tmp_path


def test_a_trained_model_judges_every_pair(tiny_run, suite):
    (outcome,) = judge(load(tiny_run.folder, "ll-rnn"), suite)
    assert (outcome.construction, outcome.pairs, outcome.unknown) == ("simple", 2, 0)
    assert outcome.accuracy == outcome.right / 2


def test_the_right_sentence_is_the_likelier_one_or_not_whichever_comes_first(tiny_run, suite):
    swapped = PAIRS.replace("True", "?").replace("False", "True").replace("?", "False")
    lines = swapped.splitlines()
    turned = [lines[1], lines[0], lines[3], lines[2]]
    (suite / "turned.txt").write_text("\n".join(turned), encoding="utf-8")
    simple, other = judge(load(tiny_run.folder, "ll-rnn"), suite)
    assert simple.right + other.right == 2, "no pair is right both ways"


def test_a_broken_line_is_named(tmp_path):
    (tmp_path / "bad.txt").write_text("True\tbon\nFaux\tmauvais\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"bad\.txt, line 2: expected True or False"):
        read_pairs(tmp_path / "bad.txt")


def test_clams_has_all_its_pairs(shared_data):
    suite = shared_data / "clams-fr"
    assert sum(len(read_pairs(path)) for path in suite.glob("[a-z]*.txt")) == 49_360
