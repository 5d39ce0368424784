"""Patterns as they may be typed: what Python's own expressions allow, or an error that is short."""

import re
from itertools import product

import pytest
from fuzz_cases import CASES, fuzz
from hypothesis import strategies as st
from test_fuzz_constraints import ANALYSES, KNOWN, PIECES, WORDS

from accord.models.constraints import DEEPEST, MOST_TESTS, WordAutomaton
from accord.pipeline.ask.generate import Automata

SENTENCES = [words for length in range(1, 4) for words in product(KNOWN.values(), repeat=length)]
# Each test with the words that pass it, one letter for each.
TESTS = {"DET": "cd", "NOUN&Gender=Masc": "e", "Number=Sing": "cd", ".": "cdef", '"dort"': "f"}
TESTS |= {"la": "d", ".&VERB": "f"}


def built(pattern: str, start: int = 0) -> WordAutomaton:
    return Automata(WORDS, ANALYSES, list).of_pattern(pattern, start).automaton


def allows(automaton: WordAutomaton, words: tuple[int, ...]) -> bool:
    group, follow = automaton.group, automaton.follow
    state = 0
    for word in (*words, 0):
        state = follow[state, group[word]] if state >= 0 else state
    return state >= 0


def repeated(parts: st.SearchStrategy) -> st.SearchStrategy:
    """Pairs of a pattern and of Python's expression for the same, in all the ways to combine."""

    def joined(several: list[tuple[str, str]], sign: str) -> tuple[str, str]:
        ours, theirs = zip(*several, strict=True)
        return f"({f' {sign} '.join(ours)})", f"(?:{sign.join(theirs)})"

    def again(part: tuple[str, str], sign: str) -> tuple[str, str]:
        return f"({part[0]}){sign}", f"(?:{part[1]}){sign}"

    several = st.lists(parts, min_size=1, max_size=3)
    return st.builds(joined, several, st.sampled_from(["|", ""])) | st.builds(
        again, parts, st.sampled_from("*+?")
    )


EXPRESSIONS = st.recursive(
    st.sampled_from([(test, f"[{letters}]") for test, letters in TESTS.items()]), repeated
)


@CASES
def test_any_expression_allows_the_sentences_that_pythons_own_allows(cases):
    def check(expression: tuple[str, str]) -> None:
        pattern, same = expression
        expected = {
            words
            for words in SENTENCES
            if re.fullmatch(same, "".join(chr(ord("a") + word) for word in words))
        }
        try:
            automaton = built(pattern)
        except ValueError:
            assert not expected
        else:
            assert {words for words in SENTENCES if allows(automaton, words)} == expected

    fuzz(cases, EXPRESSIONS, check)


@CASES
def test_what_is_typed(cases):
    def check(typed: tuple[str, int]) -> None:
        try:
            automaton = built(*typed)
        except ValueError as error:
            assert len(str(error)) < 1000
            return
        follow = automaton.follow
        assert ((follow >= -1) & (follow < len(follow))).all()
        assert (follow >= 0).any(axis=1)[0]

    pieces = PIECES | st.sampled_from(["(", ")", "|", "*", "+", "?", '"', ".", "&", "(" * 3000])
    texts = st.lists(pieces, max_size=12).map(" ".join) | st.text('()|*+?"&.= aNOU\n', max_size=30)
    fuzz(cases, st.tuples(texts, st.integers(0, 3)), check)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(" * 100_000, f"expected brackets at most {DEEPEST} deep"),
        ("(" * 500 + "le" + ")" * 500, f"expected brackets at most {DEEPEST} deep"),
        ("le* " * 30_000, f"expected at most {MOST_TESTS:,} words"),
        ("(le|la)* le" + " (le|la)" * 20, "expected at most 10,000 states"),
        ("x" * 100_000, "the model does not know 'xxx"),
        ('"' * 100_001, 'expected a closing "'),
    ],
)
def test_what_would_take_more_than_a_machine_has_is_refused_with_the_limit(pattern, said):
    with pytest.raises(ValueError, match=said) as error:
        built(pattern)
    assert len(str(error.value)) < 1000


def test_the_deepest_and_the_longest_are_still_read():
    le = KNOWN["le"]
    assert allows(built("(" * DEEPEST + "le" + ")" * DEEPEST), (le,))
    assert allows(built("le " * MOST_TESTS), (le,) * MOST_TESTS)
