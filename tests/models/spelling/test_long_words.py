"""A word of any length costs its letters: twice as long, twice as much."""

import pytest
from operations import calls, is_linear
from spelling_cases import COUNT, made

from accord.models.spelling import neural
from accord.models.spelling.spelling import Subwords
from accord.pipeline.data.subwords import Speller

LETTERS = ("a", "ab", "7", "7,", "é", "☃")


@pytest.mark.parametrize("letters", LETTERS)
def test_letter_n_grams(letters):
    model = made("ngram")

    def cost(length: int) -> int:
        word = (letters * length)[:length]
        return calls(lambda: model.log_prob([word]))

    assert is_linear(cost, 5_000)


@pytest.mark.parametrize("beside", [0, 200])
def test_the_letter_network_reads_each_symbol_once_whatever_stands_beside_it(beside, monkeypatch):
    at_once = 4_000  # fewer than else, so that a short word fills them
    monkeypatch.setattr(neural, "SYMBOLS_AT_ONCE", at_once)
    model = made("neural")
    read, largest = [], []

    def on_forward(network, inputs, outputs) -> None:
        read.append(inputs[0].numel())
        largest.append(outputs[0].numel() // outputs[0].shape[2])

    model.network.register_forward_hook(on_forward)

    def cost(length: int) -> int:
        read.clear()
        model.log_prob(["ab" * length, *["ab"] * beside])
        return sum(read)

    assert is_linear(cost, at_once // COUNT)
    assert max(largest) <= at_once, "the room does not grow with the word"
    assert cost(1000) <= COUNT * (2001 + 3 * beside) + at_once, "little is padding"


def test_a_word_read_in_pieces_is_the_word_read_at_once(monkeypatch):
    model = made("neural")
    words = ["ab" * 40, "ba", "c", "12", "abba" * 7]
    whole = model.log_prob(words)
    monkeypatch.setattr(neural, "SYMBOLS_AT_ONCE", 5)
    assert model.log_prob(words) == pytest.approx(whole, abs=1e-4)
    assert model.log_prob(words[:1]) == pytest.approx(whole[:1], abs=1e-4)


@pytest.mark.parametrize("letters", LETTERS)
def test_subwords(letters):
    speller = Speller.learn({"abab": 5, "ba": 3}, merges=3)

    def cost(length: int) -> int:
        word = (letters * length)[:length]
        spelled: list[Subwords] = []
        events = calls(lambda: spelled.append(speller.subwords([word])))
        return events + len(spelled[0].subwords)

    assert is_linear(cost, 5_000)
