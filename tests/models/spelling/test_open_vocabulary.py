"""An open vocabulary: known and spelled words together have probability one."""

import numpy as np
import pytest
import torch
from query_cases import scored
from spelling_cases import COUNT, made, strings, tail

from accord.models.background import Unigram
from accord.models.data import Sentences
from accord.models.inference.torch_model import TorchModel
from accord.models.model import LanguageModel
from accord.models.phi import Features
from accord.models.recipe import Recipe
from accord.models.spelling import spelling
from accord.models.spelling.spelling import WrittenText, open_score

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
