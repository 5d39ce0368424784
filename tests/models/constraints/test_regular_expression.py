"""An expression as an automaton allows exactly the sentences that Python's `re` matches."""

import re
from itertools import product

import numpy as np
import pytest

from accord.models.constraints.regular_expression import Expression

LETTERS = "abc"
END = len(LETTERS)


def accepts(follow: np.ndarray, sentence: tuple[int, ...]) -> bool:
    state = 0
    for group in (*sentence, END):
        state = follow[state, group]
        if state < 0:
            return False
    return True


@pytest.mark.parametrize(
    "text",
    ["a b* c", "(a | b c)+", "a? b? c", "(a* b)* | c", "a (b | c)* a", "a | ", "((a))+?", "a+ a b"],
)
def test_it_allows_what_matches_and_nothing_else(text):
    expression = Expression(text)
    obeys = np.array(
        [[letter == test for letter in (*LETTERS, "end")] for test in expression.tests]
    )
    follow = expression.automaton(obeys, END)
    plain = re.compile(text.replace(" ", "").replace("+?", "*"))
    for length in range(6):
        for sentence in product(range(len(LETTERS)), repeat=length):
            letters = "".join(LETTERS[group] for group in sentence)
            assert accepts(follow, sentence) == bool(plain.fullmatch(letters)), letters


def test_a_state_that_nothing_can_be_completed_from_is_never_reached():
    expression = Expression("a b | a nothing c | c")
    obeys = np.array(
        [[letter == test for letter in (*LETTERS, "end")] for test in expression.tests]
    )
    follow = expression.automaton(obeys, END)
    for state in {0, *follow[follow >= 0].tolist()}:
        assert (follow[state] >= 0).any()
    assert not accepts(follow, (0, 2))


@pytest.mark.parametrize(
    ("text", "fault"),
    [("a (b", r"expected \), found 'the end'"), ("a ) b", r"expected the end, found '\)'"),
     ("* a", r"expected a test or a bracket, found '\*'"), ('a "b', 'expected a closing "')],
)  # fmt: skip
def test_what_is_no_expression_is_refused(text, fault):
    with pytest.raises(ValueError, match=fault):
        Expression(text)
