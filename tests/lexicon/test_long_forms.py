"""A form of any length is looked up and guessed at a cost that does not grow faster than it."""

import pytest
from operations import calls, is_linear

from accord import lexicon
from accord.lexicon.analysis import LONGEST, plain

SHAPES = ("a", "1", "1.", "1-", "A.", "I", "-", "x-", "é", "я", "deux-", "@", "a@", "a.")


@pytest.fixture(scope="module")
def chain():
    return lexicon.load(["closed", "tiny", "guesser"], folder=None)


@pytest.mark.parametrize("shape", SHAPES)
def test_lookup_and_guess(chain, shape):
    def cost(length: int) -> int:
        form = (shape * length)[:length] + "!?"
        return calls(lambda: (chain.lookup([form]), chain.analyses(form)))

    cost(10)  # in which libraries are loaded
    assert is_linear(cost, 20_000)
    assert chain.analyses((shape * 20_000)[:20_000])


def test_marks_are_composed_where_a_word_could_have_them():
    assert plain("e\u0301te\u0301") == "été"
    zalgo = "e" + "\u0316\u0301" * LONGEST
    assert plain(zalgo) == zalgo, "to sort so many would take the square of their number"
