"""Strings that match an expression: their mass is exact, and drawn they have their odds."""

import re
from collections import Counter

import numpy as np
import pytest
from spelling_cases import COUNT, made, strings

from accord.models.constraints import OTHER, letters
from accord.models.spelling.matching import Matching

MODEL = made("ngram")
DRAWS = 400
LETTERS = "ab127ж"  # 7 and ж are not in its alphabet
SHORT = strings(LETTERS, 5)


def listed(expression: str) -> np.ndarray:
    """The mass of strings up to a length that match, by class."""
    found = [word for word in SHORT if re.fullmatch(expression, word)]
    return np.exp(MODEL.log_prob(found)).sum(axis=0)


@pytest.mark.parametrize(
    "expression", ["(a|b)b?a", "a[12]?b|7", "ж?ab?", "1[27]", "(a|ab)(b|ba)?", "[ab]1?b"]
)
def test_of_finitely_many_strings_the_mass_is_their_sum(expression):
    assert np.exp(Matching(MODEL, expression).log_mass) == pytest.approx(listed(expression))


@pytest.mark.parametrize("expression", ["a.*b", "[ab]+", "(ab|1)*a", "ж.*"])
def test_of_infinitely_many_it_is_within_what_longer_ones_have(expression):
    mass, least = np.exp(Matching(MODEL, expression).log_mass), listed(expression)
    assert (mass > least).all()
    assert (mass < least + 1 - np.exp(MODEL.log_prob(SHORT)).sum(axis=0)).all()


@pytest.mark.parametrize("parts", [[".*"], [".*a", ".*[^a]"], [r"\d+", ".*[^0-9].*"]])
def test_expressions_that_part_all_strings_have_the_mass_one_together(parts):
    together = sum(np.exp(Matching(MODEL, part).log_mass) for part in parts)
    assert together == pytest.approx(np.ones(COUNT), abs=1e-10)


@pytest.mark.slow
def test_strings_are_drawn_with_their_odds():
    expression = r"a.*b|\d\d|ж"
    found, chance = Matching(MODEL, expression), np.random.default_rng(1)
    for kind in range(COUNT):
        drawn = Counter(found.draw(kind, chance) for _ in range(DRAWS))
        assert all(re.fullmatch(expression, word) for word in drawn)
        for word, count in drawn.most_common(4):
            p = np.exp(MODEL.log_prob([word])[0, kind] - found.log_mass[kind])
            assert count / DRAWS == pytest.approx(p, abs=0.08)


def test_automata_tell_characters_apart_that_no_alphabet_has():
    found = letters("[x-z]é", MODEL.alphabet)
    assert {*"xyzé", OTHER} <= {*found.characters}
    assert found.share[found.symbol == 1].sum() == pytest.approx(1)
