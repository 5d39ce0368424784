"""Priming: some words are likelier by a weight, in a distribution that still sums to one."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from accord.models.background import Unigram
from accord.models.constraints import ConstrainedModel, WordAutomaton, likeliest_weight, primed
from accord.models.data import END, Sentences
from accord.models.inference.next_word import NextWord, WordValues
from accord.models.inference.torch_model import TorchModel
from accord.models.model import LanguageModel
from accord.models.phi import Features
from accord.models.recipe import Recipe

WORDS, CHOSEN = 9, np.array([2, 5])
# Words 1 to 4 are of one signature, 5 to 8 of another: one of each is primed.
PHI = Features.from_rows(np.arange(WORDS + 1), np.array([0, *[1] * 4, *[2] * 4]), np.ones(WORDS), 3)
TEXT = Sentences(np.array([1, 2, 5, END, 7, 2, 8, 5, 3, END]), np.array([4, 6]))


def a_model(**said) -> TorchModel:
    torch.manual_seed(5)
    recipe = Recipe(embedding=6, hidden=6, layers=1, **said)
    background = Unigram(PHI, np.arange(1.0, WORDS + 1))
    return TorchModel(LanguageModel(recipe, PHI, background).eval())


@pytest.mark.parametrize("said", [{}, {"kind": "log-linear", "background_gate": True}], ids=str)
def test_primed_words_are_likelier_by_their_weight_and_all_sum_to_one(said):
    model, weight = a_model(output=said or "log-linear"), 1.7
    plain, found = (each.log_distributions(TEXT) for each in (model, primed(model, CHOSEN, weight)))
    plain[:, CHOSEN] += weight
    assert found == pytest.approx(log_softmax(plain, axis=1), abs=1e-5)
    assert np.exp(found).sum(axis=1) == pytest.approx(1)
    assert primed(model, CHOSEN, 0.0).score(TEXT) == pytest.approx(model.score(TEXT))


@pytest.mark.parametrize("said", [{}, {"kind": "log-linear", "temperature": True}], ids=str)
def test_the_weight_is_that_under_which_a_text_is_likeliest(said):
    model = a_model(output=said or "log-linear")
    if said.get("temperature"):
        torch.nn.init.constant_(model.output.inverse_temperature, 0.7)
        model.sharpness = 0.7
    found = likeliest_weight(model, CHOSEN, TEXT)
    best = minimize_scalar(lambda weight: -primed(model, CHOSEN, weight).score(TEXT).sum())
    assert found == pytest.approx(best.x, abs=1e-3)
    with pytest.raises(ValueError, match="some of the words, got none"):
        likeliest_weight(model, np.array([6]), TEXT)


def test_a_primed_model_can_be_held_to_a_constraint():
    """Σ over what is allowed is one, and among it the primed word has its weight."""
    model, allowed = a_model(), np.array([1, 2, 3])
    group = np.isin(np.arange(WORDS), allowed).astype(int)
    held = WordAutomaton(group, np.array([[-1, 0]]))
    found = ConstrainedModel(primed(model, CHOSEN, 1.0), held).log_distributions(TEXT)
    expected = model.log_distributions(TEXT)
    expected[:, CHOSEN] += 1.0
    expected = log_softmax(expected[:, allowed], axis=1)
    assert found[:, allowed] == pytest.approx(expected, abs=1e-5)
    assert np.isneginf(found[:, group == 0]).all()


def test_what_is_expected_of_the_next_word_costs_the_signatures_still():
    model = primed(a_model(), CHOSEN, 1.0)
    values = WordValues(*map(np.array, ([5], [0], [1.0])), WORDS, 1)
    asked = NextWord(model, values)
    assert len(asked.within) < WORDS
    log_p = model.log_distributions(TEXT)
    found = asked.ask(TEXT)
    assert found.log_p == pytest.approx(model.score(TEXT))
    assert found.means[:, 0] == pytest.approx(np.exp(log_p[:, 5]))
    assert found.entropy == pytest.approx(-(np.exp(log_p) * log_p).sum(axis=1))
