"""Text of any kind is normalised at a cost that grows as its length."""

import unicodedata
from itertools import groupby

import pytest

from corpora.normalise import MOST_MARKS, normalise


def longest_run(text: str) -> int:
    """Marks in a row: the work of sorting them is the square of it."""
    runs = groupby(text, key=lambda letter: unicodedata.combining(letter) > 0)
    return max((len(list(run)) for is_mark, run in runs if is_mark), default=0)


@pytest.mark.parametrize(
    "marks",
    [
        "\u0301\u0316",
        "\u0301\u200d\u0316",  # whose joiner is dropped, so that the marks meet
        "\u0344",  # two marks in one
        "\u0301\U0001e94a",
    ],
)
def test_marks_in_a_row_are_as_many_as_unicode_allows(marks):
    text = "e" + marks * 50_000
    once = normalise(text)
    assert longest_run(once) <= MOST_MARKS
    assert normalise(once) == once
    kept = [letter for letter in once if letter != "\u034f"]
    assert len(kept) >= 49_000, "no mark is lost, but for those composed"


def test_what_people_write_stays_as_it_is():
    assert normalise("e\u0301te\u0301") == "été"
    stacked = "o" + "\u0316\u0301" * (MOST_MARKS // 2)
    assert "\u034f" not in normalise(stacked)


def test_a_word_of_another_script_is_no_run_of_marks():
    assert normalise("я" * 1000) == "я" * 1000
