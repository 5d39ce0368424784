"""An expression as an automaton allows exactly the sentences that Python's `re` matches."""

import re
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from accord.models.constraints import Expression, matches

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


@given(
    st.lists(st.sampled_from(["a", "b", ".", "[ab]", "[^a]", *r"()|*+?", r"\d"]), max_size=10),
    st.lists(st.text("abc1", max_size=6)),
)
def test_words_match_as_by_pythons_own_expressions(parts, words):
    text = "".join(parts)
    assume(not re.search(r"[*+?]{2}|\(\?", text))  # possessive and other groups, which are Python's
    try:
        plain = re.compile(text)
    except re.error:
        with pytest.raises(ValueError, match="expected"):
            matches(text, words)
    else:
        assert matches(text, words) == [bool(plain.fullmatch(word)) for word in words]


@pytest.mark.parametrize("expression", ["(.|.)*1z", "(a*)*b", "(a|a?)+b", "(.*,)*z"])
def test_no_expression_takes_longer_than_a_word_is_long(expression):
    assert matches(expression, ["a" * 10_000]) == [False]


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("[a", r"/\[a/: expected an expression, but unterminated \["),
        ("a{2}", r"/a\{2\}/: expected \\\{ for the sign itself, found \{"),
        (".*a" + "." * 20, r"'/\.\*a\.+/': expected at most 10,000 states"),
        ("a" * 2000, "expected at most 1,000"),
    ],
)
def test_what_is_no_expression_of_letters_is_refused(expression, fault):
    with pytest.raises(ValueError, match=fault):
        matches(expression, ["a"])
