"""Answers by signatures are those of the enumerated vocabulary; primed words, features off."""

import numpy as np
import pytest
import torch
from log_linear_cases import Bigram, by_definition, dense, random_features, random_mass
from ngram_cases import WORDS, random_sentences, rising_prior
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from accord.models.background import NGramBackground, Unigram
from accord.models.constraints import ConstrainedModel, WordAutomaton, likeliest_weight, primed
from accord.models.data import END, Sentences
from accord.models.inference import next_word
from accord.models.inference.next_word import NextWord, WordValues
from accord.models.inference.torch_model import TorchModel, in_torch
from accord.models.model import LanguageModel
from accord.models.parts import SMOOTHINGS
from accord.models.phi import Features
from accord.models.recipe import Recipe

FEATURES = random_features(WORDS, width=3, real=False)
TEXT = random_sentences(seed=5, count=20, words=WORDS)
UNKNOWN = range(1, 3)
COLUMNS = 4


def mass(seed: int = 0) -> np.ndarray:
    """Some words have none, and some of a signature have as much as each other."""
    return np.random.default_rng(seed).integers(0, 4, WORDS) + (np.arange(WORDS) == 0)


def ngrams() -> NGramBackground:
    smoothing = SMOOTHINGS["kneser-ney"]
    return NGramBackground.learn(FEATURES, [random_sentences()], 3, smoothing, rising_prior, 0)


def made(kind: str):
    torch.manual_seed(3)
    recipe = {"embedding": 6, "hidden": 6, "layers": 1}
    if kind == "background only":
        return ngrams()
    if kind == "over n-grams":
        recipe |= {"output": {"kind": "log-linear", "background_gate": True}}
        return LanguageModel(Recipe(**recipe), FEATURES, ngrams()).eval()
    if kind == "over bigrams":
        table = np.random.default_rng(1).random((WORDS, WORDS))
        return LanguageModel(Recipe(**recipe), FEATURES, Bigram(FEATURES, table)).eval()
    background = Unigram(FEATURES, mass())
    return LanguageModel(Recipe(**recipe, output=kind), FEATURES, background).eval()


def table() -> tuple[np.ndarray, WordValues]:
    """Random numbers for every word, most of them none."""
    generator = np.random.default_rng(2)
    dense = generator.random((WORDS, COLUMNS)) * (generator.random((WORDS, COLUMNS)) < 0.4)
    word, column = np.nonzero(dense)
    return dense, WordValues(word, column, dense[word, column], WORDS, COLUMNS)


KINDS = ["log-linear", "softmax", "adaptive", "over n-grams", "over bigrams", "background only"]


@pytest.mark.parametrize("at_once", [1, 100, 1 << 23])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_asked_of_signatures_is_the_sum_over_all_words(kind, at_once, monkeypatch):
    monkeypatch.setattr(next_word, "AT_ONCE", at_once)
    model, (dense, values) = made(kind), table()
    spelled = np.random.default_rng(4).uniform(-5, 0, (len(TEXT.ids), len(UNKNOWN)))
    found = NextWord(in_torch(model), values, UNKNOWN).ask(TEXT, spelled)
    log_p = in_torch(model).log_distributions(TEXT)
    p = np.exp(log_p)
    np.testing.assert_allclose(found.means, p @ dense, atol=1e-6)
    np.testing.assert_allclose(found.entropy, -(p * np.where(p > 0, log_p, 0)).sum(1), atol=1e-5)
    own, is_unknown = log_p[np.arange(len(TEXT.ids)), TEXT.ids], np.isin(TEXT.ids, UNKNOWN)
    by_letters = (p[:, UNKNOWN] * np.exp(spelled)).sum(axis=1)
    expected = np.log(np.where(is_unknown, 0, np.exp(own)) + by_letters)
    np.testing.assert_allclose(found.log_p, expected, atol=1e-5)
    bound = np.where(is_unknown, expected, own)
    log_p[:, UNKNOWN] = -np.inf
    # Words within a rounding error of each other may be ranked either way.
    most = 1 + (log_p > bound[:, None] - 1e-5).sum(axis=1)
    least = 1 + (log_p > bound[:, None] + 1e-5).sum(axis=1)
    assert ((least <= found.rank) & (found.rank <= most)).all()


def test_words_as_likely_as_each_other_have_one_rank():
    features = random_features(WORDS, width=1, real=False)
    model = LanguageModel(
        Recipe(embedding=4, hidden=4, layers=1), features, Unigram(features, np.ones(WORDS))
    )
    rank = NextWord(in_torch(model.eval()), table()[1]).ask(TEXT).rank
    signatures = np.bincount(features.signature)
    assert set(rank) <= {1, *(1 + signatures)}


NINE, CHOSEN = 9, np.array([2, 5])
# Words 1 to 4 are of one signature, 5 to 8 of another: one of each is primed.
PHI = Features.from_rows(np.arange(NINE + 1), np.array([0, *[1] * 4, *[2] * 4]), np.ones(NINE), 3)
PRIMED_TEXT = Sentences(np.array([1, 2, 5, END, 7, 2, 8, 5, 3, END]), np.array([4, 6]))


def a_model(**said) -> TorchModel:
    torch.manual_seed(5)
    recipe = Recipe(embedding=6, hidden=6, layers=1, **said)
    background = Unigram(PHI, np.arange(1.0, NINE + 1))
    return TorchModel(LanguageModel(recipe, PHI, background).eval())


@pytest.mark.parametrize("said", [{}, {"kind": "log-linear", "background_gate": True}], ids=str)
def test_primed_words_are_likelier_by_their_weight_and_all_sum_to_one(said):
    model, weight = a_model(output=said or "log-linear"), 1.7
    plain, found = (
        each.log_distributions(PRIMED_TEXT) for each in (model, primed(model, CHOSEN, weight))
    )
    plain[:, CHOSEN] += weight
    assert found == pytest.approx(log_softmax(plain, axis=1), abs=1e-5)
    assert np.exp(found).sum(axis=1) == pytest.approx(1)
    assert primed(model, CHOSEN, 0.0).score(PRIMED_TEXT) == pytest.approx(model.score(PRIMED_TEXT))


@pytest.mark.parametrize("said", [{}, {"kind": "log-linear", "temperature": True}], ids=str)
def test_the_weight_is_that_under_which_a_text_is_likeliest(said):
    model = a_model(output=said or "log-linear")
    if said.get("temperature"):
        torch.nn.init.constant_(model.output.inverse_temperature, 0.7)
        model.sharpness = 0.7
    found = likeliest_weight(model, CHOSEN, PRIMED_TEXT)
    best = minimize_scalar(lambda weight: -primed(model, CHOSEN, weight).score(PRIMED_TEXT).sum())
    assert found == pytest.approx(best.x, abs=1e-3)
    with pytest.raises(ValueError, match="some of the words, got none"):
        likeliest_weight(model, np.array([6]), PRIMED_TEXT)


def test_a_primed_model_can_be_held_to_a_constraint():
    """Σ over what is allowed is one, and among it the primed word has its weight."""
    model, allowed = a_model(), np.array([1, 2, 3])
    group = np.isin(np.arange(NINE), allowed).astype(int)
    held = WordAutomaton(group, np.array([[-1, 0]]))
    found = ConstrainedModel(primed(model, CHOSEN, 1.0), held).log_distributions(PRIMED_TEXT)
    expected = model.log_distributions(PRIMED_TEXT)
    expected[:, CHOSEN] += 1.0
    expected = log_softmax(expected[:, allowed], axis=1)
    assert found[:, allowed] == pytest.approx(expected, abs=1e-5)
    assert np.isneginf(found[:, group == 0]).all()


def test_what_is_expected_of_the_next_word_costs_the_signatures_still():
    model = primed(a_model(), CHOSEN, 1.0)
    values = WordValues(*map(np.array, ([5], [0], [1.0])), NINE, 1)
    asked = NextWord(model, values)
    assert len(asked.within) < NINE
    log_p = model.log_distributions(PRIMED_TEXT)
    found = asked.ask(PRIMED_TEXT)
    assert found.log_p == pytest.approx(model.score(PRIMED_TEXT))
    assert found.means[:, 0] == pytest.approx(np.exp(log_p[:, 5]))
    assert found.entropy == pytest.approx(-(np.exp(log_p) * log_p).sum(axis=1))


REAL_FEATURES = random_features(WORDS, width=6)
SHORT_TEXT = random_sentences(seed=5, count=10, words=WORDS)
OFF = [1, 4]
HOT = {"kind": "log-linear", "temperature": True}


def with_features(**recipe) -> TorchModel:
    torch.manual_seed(3)
    background = Unigram(REAL_FEATURES, random_mass(WORDS))
    sizes = {"embedding": 6, "hidden": 6, "layers": 1}
    return TorchModel(LanguageModel(Recipe(**sizes, **recipe), REAL_FEATURES, background).eval())


@pytest.mark.parametrize(
    ("recipe", "sharp"), [({}, 1.0), ({"tied": True}, 1.0), ({"output": HOT}, 0.7)]
)
@torch.inference_mode()
def test_probabilities_are_those_of_the_features_that_are_left(recipe, sharp):
    whole = with_features(**recipe)
    if "output" in recipe:
        whole.output.inverse_temperature.fill_(sharp)
    changed = whole.switched_off(OFF)
    (read,) = whole.states(SHORT_TEXT)
    phi = dense(REAL_FEATURES).copy()
    phi[:, OFF] = 0
    log_b = torch.from_numpy(np.log(random_mass(WORDS)))
    believed = sharp * log_b + (1 - sharp) * _shares(log_b)
    expected = by_definition(phi, believed, whole.output.adaptor(read.h).double())
    found = changed.output.log_prob(read.h, torch.from_numpy(read.context)).double()
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(found.exp().sum(dim=1), torch.ones(len(found)).double())


def _shares(log_b: torch.Tensor) -> torch.Tensor:
    """log b(x)/B_s, which no temperature touches."""
    signature = torch.from_numpy(REAL_FEATURES.signature)
    mass = torch.zeros(REAL_FEATURES.signature_count, dtype=torch.double)
    return log_b - mass.index_add(0, signature, log_b.exp()).log()[signature]


@pytest.mark.parametrize("tied", [False, True])
def test_the_first_model_and_what_is_read_stay_as_they_were(tied):
    whole = with_features(tied=tied)
    before = whole.score(SHORT_TEXT)
    changed = whole.switched_off(OFF)
    ((one,), (other,)) = whole.states(SHORT_TEXT), changed.states(SHORT_TEXT)
    torch.testing.assert_close(one.h, other.h, atol=0, rtol=0)
    np.testing.assert_array_equal(whole.score(SHORT_TEXT), before)
    assert not np.allclose(changed.score(SHORT_TEXT), before)
    np.testing.assert_array_equal(whole.switched_off([]).score(SHORT_TEXT), before)
    assert not changed.output.adaptor(one.h)[:, OFF].any()
