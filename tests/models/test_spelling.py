"""Spelling: every string has a probability, all sum to one; those that match an expression."""

import math
import re
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from operations import calls, is_linear
from query_cases import scored
from spelling_cases import COUNT, made, strings, tail

from accord.models import neural_spelling as neural
from accord.models import spelling
from accord.models.background import Unigram
from accord.models.constraints import OTHER, Matching, letters
from accord.models.data import Sentences
from accord.models.inference.torch_model import TorchModel
from accord.models.model import LanguageModel
from accord.models.phi import Features
from accord.models.recipe import Recipe
from accord.models.spelling import Subwords, WrittenText, load_spelling, open_score
from accord.pipeline.data.encoded import Speller

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


def test_files_keep_the_model(model, tmp_path):
    model.save(tmp_path / model.file)
    again = load_spelling(tmp_path)
    words = ["ab", "12", "né"]
    assert again.log_prob(words) == pytest.approx(model.log_prob(words), abs=1e-6)


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


ALPHABET = "ab0123456789c"  # c is an escape, and the only one
UNKNOWN = 1
LONGEST = 3
WORDS = ["<end>", *(f"<unk {kind}>" for kind in range(COUNT)), "a", "ab", "bab"]


def network(output: str, words: list[str]) -> LanguageModel:
    """Every unknown word shares its signature with a known one, as where a lexicon is in use."""
    rows = [number % 5 for number in range(len(words))]
    features = Features.from_rows(np.arange(len(rows) + 1), rows, np.ones(len(rows)), 5)
    if output != "log-linear":
        features = Features.one_hot(len(words))
    mass = np.linspace(1, 3, len(words))
    torch.manual_seed(1)
    recipe = Recipe(embedding=8, hidden=8, layers=1, output=output, tied=output == "log-linear")
    return LanguageModel(recipe, features, Unigram(features, mass)).double().eval()


def log_p_after(before: list[int], model, speller, words: list[str], asked: list[str]):
    """log p of each asked word, and of the end, after the ids before."""
    ids = {word: number for number, word in enumerate(words) if number > COUNT}
    texts = [[*before, ids.get(word, UNKNOWN + len(word) % COUNT), 0] for word in asked]
    positions = [[*[-1] * len(before), place, -1] for place in range(len(asked))]
    texts, positions = [*texts, [*before, 0]], [*positions, [-1] * len(before) + [-1]]
    sentences = Sentences(np.concatenate(texts), np.array(list(map(len, texts))))
    log_p = open_score(
        TorchModel(model),
        sentences,
        WrittenText(asked, np.concatenate(positions)),
        speller,
        UNKNOWN,
    )
    return log_p[sentences.starts + len(before)]


@pytest.mark.parametrize("output", ["log-linear", "softmax"])
@pytest.mark.parametrize("before", [[], [5, 2]])
def test_all_strings_and_the_end_sum_to_one(output, before, monkeypatch):
    model, speller = network(output, WORDS), made("ngram")
    others = len(set(ALPHABET) - {*speller.alphabet.symbol})
    monkeypatch.setattr(spelling, "CODE_POINTS", len(speller.alphabet.symbol) + others)
    log_p = log_p_after(before, model, speller, WORDS, strings(ALPHABET, LONGEST))
    text = Sentences(np.array([*before, 0]), np.array([len(before) + 1]))
    unknown = TorchModel(model).score_alternatives(text, range(UNKNOWN, UNKNOWN + COUNT))[-1, 1:]
    longer = np.exp(unknown) @ tail(speller, ALPHABET, LONGEST)
    assert np.exp(log_p).sum() + longer == pytest.approx(1, abs=1e-9)


def test_a_word_added_to_the_known_ones_changes_its_probability_and_the_sum_stays(monkeypatch):
    speller = made("ngram")
    others = len(set(ALPHABET) - {*speller.alphabet.symbol})
    monkeypatch.setattr(spelling, "CODE_POINTS", len(speller.alphabet.symbol) + others)
    asked = strings(ALPHABET, LONGEST)
    sums, of_word = [], []
    for words in (WORDS, [*WORDS, "bb"]):
        model = network("log-linear", words)
        log_p = log_p_after([], model, speller, words, asked)
        unknown = TorchModel(model).score_alternatives(
            Sentences(np.array([0]), np.array([1])), range(1, 1 + COUNT)
        )
        longer = np.exp(unknown[0, 1:]) @ tail(speller, ALPHABET, LONGEST)
        sums.append(np.exp(log_p).sum() + longer)
        of_word.append(log_p[asked.index("bb")])
    assert sums == pytest.approx([1, 1], abs=1e-9)
    assert of_word[1] > of_word[0] + 0.1


@pytest.mark.parametrize("output", ["log-linear", "softmax", "adaptive"])
def test_words_beside_have_what_they_would_have_in_that_place(output):
    model = network(output, WORDS)
    text = Sentences(np.array([6, 7, 5, 0]), np.array([4]))
    beside = TorchModel(model).score_alternatives(text, [2, 7])
    assert beside[:, 0] == pytest.approx(scored(model, text), abs=1e-12)
    for place in range(4):
        for column, other in ((1, 2), (2, 7)):
            ids = text.ids.copy()
            ids[place] = other
            log_p = scored(model, Sentences(ids, text.lengths))
            assert beside[place, column] == pytest.approx(log_p[place], abs=1e-12)


def test_words_drawn_from_the_open_model_come_as_often_as_it_says():
    """Calibration: each frequent word's share lies in its bootstrap interval, known or spelled."""
    model, speller, size = network("log-linear", WORDS), made("ngram"), 3000
    queries = TorchModel(model)
    h, _ = queries.advance(np.zeros((1, 1), np.int64), queries.initial_state(1))
    contexts = np.zeros((size, 0), np.int64)
    ids = queries.draw(h[0].expand(size, -1), contexts, np.random.default_rng(5))
    words = np.array(WORDS, dtype=object)[ids]
    is_unknown = (ids >= UNKNOWN) & (ids < UNKNOWN + COUNT)
    words[is_unknown] = speller.draw(ids[is_unknown] - UNKNOWN, np.random.default_rng(5))
    drawn, counts = np.unique(words[words != WORDS[0]], return_counts=True)
    often = counts >= 15
    asked, shares = drawn[often].tolist(), counts[often] / size
    assert len(asked) > 10, "more than the three known ones"
    p = np.exp(log_p_after([], model, speller, WORDS, asked)[:-1])
    again = np.random.default_rng(6).binomial(size, shares, (2000, len(shares))) / size
    low, high = np.quantile(again, [0.0001, 0.9999], axis=0)
    assert ((low <= p) & (p <= high)).all()


MODEL = made("ngram")
DRAWS = 400
SIX_LETTERS = "ab127ж"  # 7 and ж are not in its alphabet
SHORT = strings(SIX_LETTERS, 5)


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
