"""Constrained models are the definition over an enumerated vocabulary; expressions."""

import re
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from log_linear_cases import random_features, random_mass

from accord.models.background import NGramBackground, Uniform, Unigram, kneser_ney
from accord.models.constraints import ConstrainedModel, Expression, WordAutomaton, matches
from accord.models.data import Sentences
from accord.models.inference.generation import Sampling, sample
from accord.models.inference.torch_model import FrozenModelBackground, TorchModel
from accord.models.model import LanguageModel
from accord.models.recipe import Recipe

WORDS = 60
FEATURES = random_features(WORDS)
GROUP = np.arange(WORDS) % 3
FOLLOW = np.array([[0, 1, -1], [1, -1, 0]])
AUTOMATON = WordAutomaton(GROUP, FOLLOW, np.array([[0.0, 1.5, 0.0], [-0.5, 0.0, 2.0]]))
ALL = {"background_gate": True, "temperature": True, "calibration": True}
TEXT = Sentences(np.array([9, 3, 7, 0, 3, 1, 5, 0]), np.array([4, 4]))


def trigram(features=FEATURES) -> NGramBackground:
    ids = np.random.default_rng(0).integers(1, WORDS, (50, 8))
    ids[:, -1] = 0  # the end of each sentence
    text = Sentences(ids.ravel(), np.full(50, 8))
    return NGramBackground.learn(features, [text], 3, kneser_ney, np.ones_like, folds=0)


def network(background, output="log-linear", **settings) -> TorchModel:
    torch.manual_seed(0)
    output = {"kind": output, **settings} if settings else output
    recipe = Recipe(embedding=5, hidden=5, layers=1, device="cpu", output=output)
    model = LanguageModel(recipe, FEATURES, background).eval()
    with torch.no_grad():
        for parameter in model.output.parameters():
            parameter.copy_(torch.randn(parameter.shape) if parameter.ndim else torch.tensor(0.7))
    return TorchModel(model)


def unigram() -> Unigram:
    return Unigram(FEATURES, random_mass(WORDS))


MODELS = {
    "unigram": lambda: network(unigram()),
    "n-grams": lambda: network(trigram()),
    "all adjustments": lambda: network(trigram(), **ALL),
    "adaptation": lambda: network(FrozenModelBackground(FEATURES, network(trigram()).network)),
    "softmax": lambda: network(unigram(), "softmax"),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request) -> TorchModel:
    return MODELS[request.param]()


def by_definition(model: TorchModel, automaton: WordAutomaton, text=TEXT) -> np.ndarray:
    """p(x | C, K) ∝ p(x | K)·exp(β/T), word by word."""
    weight = automaton.log_weight[automaton.states(text)][:, automaton.group]
    weighed = torch.from_numpy(model.log_distributions(text) + weight * model.sharpness)
    return weighed.log_softmax(dim=1).numpy()


def test_it_is_its_definition_on_every_word(model):
    constrained, expected = ConstrainedModel(model, AUTOMATON), by_definition(model, AUTOMATON)
    np.testing.assert_allclose(constrained.log_distributions(TEXT), expected, atol=2e-5)
    (read,) = constrained.states(TEXT)
    words = np.arange(8)[:, None] * [1, 7]
    log_p = constrained.log_prob_of(read.h, words, read.context)
    rows = expected[read.positions]
    np.testing.assert_allclose(log_p, np.take_along_axis(rows, words, 1), atol=2e-5)
    best, likeliest = constrained.top(read.h, 7, read.context)
    np.testing.assert_allclose(best, -np.sort(-rows, axis=1)[:, :7], atol=2e-5)
    np.testing.assert_allclose(np.take_along_axis(rows, likeliest, 1), best, atol=2e-5)


def test_two_constraints_hold_together(model):
    second = WordAutomaton(np.arange(WORDS) % 2, np.array([[0, -1]]))
    log_p = ConstrainedModel(ConstrainedModel(model, AUTOMATON), second).log_distributions(TEXT)
    expected = by_definition(model, AUTOMATON)
    expected[:, 1::2] = -np.inf
    expected = torch.from_numpy(expected).log_softmax(dim=1).numpy()
    np.testing.assert_allclose(log_p, expected, atol=2e-5)


def test_what_forbids_nothing_changes_nothing(model):
    free = ConstrainedModel(model, WordAutomaton(GROUP, np.zeros((1, 3))))
    assert isinstance(free, ConstrainedModel) and free.is_sum == model.is_sum
    np.testing.assert_allclose(free.score(TEXT), model.score(TEXT), atol=2e-5)


def test_it_generates_only_what_the_automaton_allows(model):
    """Words of group 2 come after one of group 1 alone, and none of group 1 after another."""
    drawn = sample(
        ConstrainedModel(model, AUTOMATON), [], 100, Sampling(), np.random.default_rng(0), 6
    )
    for sentence in drawn:
        words = np.array(sentence.words)
        text = Sentences(words, np.array([len(words)]))
        assert (FOLLOW[AUTOMATON.states(text), GROUP[words]] >= 0).all()
        assert np.isfinite(sentence.log_p).all()


def test_a_state_without_a_way_out_is_rejected():
    held = ConstrainedModel(
        network(Uniform(FEATURES)), WordAutomaton(np.zeros(WORDS, int), np.array([[-1]]))
    )
    with pytest.raises(ValueError, match="a word with mass in every state, state 0 allows none"):
        held.score(TEXT)


def test_a_forbidden_word_leaves_the_state_and_a_sentence_starts_anew():
    automaton = WordAutomaton(np.array([0, 1]), np.array([[1, -1], [1, 0]]))
    sentences = Sentences(np.array([1, 0, 1, 0, 0, 1]), np.array([3, 1, 2]))
    assert automaton.states(sentences).tolist() == [0, 0, 1, 0, 0, 1]


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
