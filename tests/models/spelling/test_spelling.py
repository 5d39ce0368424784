"""Spelling: for each class a proper distribution over every non-empty string."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spelling_cases import COUNT, made, strings, tail

from accord.models.spelling import spelling
from accord.models.spelling.ngram import NGramSpelling
from accord.models.spelling.spelling import Alphabet, load_spelling, save_spelling

KINDS = ("ngram", "neural")
CHARACTERS = "ab0123456789c"  # c is not in the alphabet of the words: an escape, and the only one


@pytest.fixture(scope="module", params=KINDS)
def model(request):
    return made(request.param)


@settings(max_examples=25)
@given(word=st.text(min_size=1, max_size=1000))
def test_any_string_has_a_finite_log_probability_in_every_class(model, word):
    log_p = model.log_prob([word])
    assert log_p.shape == (1, COUNT)
    assert np.isfinite(log_p).all() and (log_p < 0).all()


def test_the_empty_string_is_refused(model):
    with pytest.raises(ValueError, match="found the empty string"):
        model.log_prob(["a", ""])


@pytest.mark.parametrize("kind", KINDS)
def test_all_strings_up_to_a_length_and_the_tail_sum_to_one(kind, monkeypatch):
    model = made(kind)
    letters = model.alphabet.symbol
    monkeypatch.setattr(spelling, "CODE_POINTS", len(letters) + len(set(CHARACTERS) - {*letters}))
    longest = 2 if kind == "neural" else 3
    ended = np.exp(model.log_prob(strings(CHARACTERS, longest))).sum(axis=0)
    assert ended + tail(model, CHARACTERS, longest) == pytest.approx(1, abs=1e-9)
    assert (ended < 1).all()


def test_numbers_are_geometric_in_their_length():
    """Those of ten digits have but the background: a tenth of q of what those of nine have."""
    model = made("ngram", ["12", "7", "215"], [0, 0, 0], 1)
    q = 1 - 1 / model.length
    assert model.length == pytest.approx((6 + 2) / (3 + 1))
    assert model.numbers == pytest.approx([0.5])
    nine, ten = (math.exp(model._number("9" * length)) for length in (9, 10))
    assert ten == pytest.approx(nine * q / 10)
    assert math.exp(model.log_prob(["4" * 9])[0, 0]) >= 0.5 * nine
    assert model._number("3,14") == -math.inf


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_inside_words_are_by_their_length(kind):
    """Which digits a word has makes no odds, and each word has the tenth of all its like."""
    model = made(kind)
    same = [f"ab{digit}b{other}" for digit in "0127" for other in "39"]
    log_p = model.log_prob(same)
    assert log_p == pytest.approx(np.tile(log_p[0], (len(same), 1)))
    drawn = "".join(model.draw([1] * 2000, np.random.default_rng(1)))
    digits = np.array([drawn.count(digit) for digit in "0123456789"])
    assert digits.max() < 2 * digits.min()


def test_an_alphabet_of_single_digits_keeps_them_apart():
    """As models have it that were saved before."""
    old = Alphabet(["0", "1", "a"])
    assert old.symbols("01") == [3, 2] and old.escapes("01") == 0


def test_likely_spellings_are_likelier_and_classes_differ_by_their_endings():
    singular = ["maison", "raison", "saison", "prison", "chanson", "leçon"]
    plural = [f"{word}s" for word in singular]
    model = NGramSpelling.learn([*singular, *plural], [0] * 6 + [1] * 6, 2, 4)
    liaison, liaisons, nosiail = model.log_prob(["liaison", "liaisons", "nosiail"])
    assert liaison[0] > nosiail[0]
    assert liaison[0] > liaison[1] and liaisons[1] > liaisons[0]


def test_files_keep_the_model(model, tmp_path):
    save_spelling(model, tmp_path)
    again = load_spelling(tmp_path)
    words = ["ab", "12", "né"]
    assert again.log_prob(words) == pytest.approx(model.log_prob(words), abs=1e-6)


def test_a_folder_of_a_closed_vocabulary_holds_none(tmp_path):
    assert load_spelling(tmp_path) is None


def test_words_drawn_come_as_often_as_their_probability_says(model):
    """Each kind and class: the shares of the likeliest words lie within four deviations."""
    generator = np.random.default_rng(8)
    size = 1000
    for kind in range(COUNT):
        drawn = model.draw([kind] * size, generator)
        words, counts = np.unique(np.array(drawn, dtype=object), return_counts=True)
        often = counts >= 20
        p = np.exp(model.log_prob(words[often].tolist())[:, kind])
        deviation = np.sqrt(p * (1 - p) / size)
        assert (np.abs(counts[often] / size - p) < 4 * deviation).all()
