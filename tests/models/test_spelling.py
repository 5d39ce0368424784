"""Spelling: a proper distribution over every non-empty string."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import spelling
from models.spelling import Spelling

WORDS = ["ba", "bab", "a", "abba", "b"]


@given(st.text(min_size=1, max_size=1000))
def test_any_string_has_a_finite_log_probability(word):
    assert -math.inf < Spelling.learn(WORDS, 3).log_prob(word) < 0


def test_the_empty_string_is_refused():
    with pytest.raises(ValueError, match="found the empty string"):
        Spelling.learn(WORDS, 3).log_prob("")


def test_all_strings_up_to_a_length_and_the_tail_sum_to_one(monkeypatch):
    """Over the letters a and b: words that end by then, and prefixes that go on, exactly."""
    monkeypatch.setattr(spelling, "CODE_POINTS", 2)
    model = Spelling.learn(WORDS, 3)
    longest = 7
    ended = sum(
        math.exp(model.log_prob("".join(letters)))
        for length in range(1, longest + 1)
        for letters in itertools.product("ab", repeat=length)
    )
    tail = 0.0
    for letters in itertools.product("ab", repeat=longest):
        word = "".join(letters)
        stop = model._letter((spelling.START + word)[-2:], spelling.STOP)
        tail += math.exp(model.log_prob(word)) / stop * (1 - stop)
    assert ended + tail == pytest.approx(1, abs=1e-12)


def test_likely_spellings_are_likelier_and_files_keep_them(tmp_path):
    model = Spelling.learn(["maison", "raison", "saison", "prison"], 4)
    assert model.log_prob("liaison") > model.log_prob("nosiail")
    model.save(tmp_path / "spelling.json")
    assert Spelling.load(tmp_path / "spelling.json").log_prob("mot") == model.log_prob("mot")
