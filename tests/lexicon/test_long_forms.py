"""A form of any length is looked up and guessed at a cost that does not grow faster than it."""

import pytest
from operations import calls, grows_as_its_size, is_linear

from accord import lexicon
from accord.lexicon.analysis import LONGEST, plain

SHAPES = ("a", "1", "1.", "1-", "A.", "I", "-", "x-", "é", "я", "deux-", "@", "a@", "a.")


@pytest.fixture(scope="module")
def chain():
    return lexicon.load(["closed", "tiny", "guesser"], folder=None)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.slow
def test_lookup_and_guess(chain, shape):
    def ask(length: int) -> None:
        form = (shape * length)[:length] + "!?"
        chain.lookup([form])
        chain.analyses(form)

    ask(10)  # in which libraries are loaded
    assert is_linear(lambda length: calls(lambda: ask(length)), 20_000)
    assert grows_as_its_size(ask, 5_000)  # regular expressions too
    assert chain.analyses((shape * 20_000)[:20_000])


def test_marks_are_composed_where_a_word_could_have_them():
    assert plain("e\u0301te\u0301") == "été"
    zalgo = "e" + "\u0316\u0301" * LONGEST
    assert plain(zalgo) == zalgo, "to sort so many would take the square of their number"
