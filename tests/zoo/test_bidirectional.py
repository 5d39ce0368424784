"""Sentences read backwards, and both directions together."""

import numpy as np
import pytest
from network_cases import network
from ngram_cases import WORDS, as_lists, random_sentences

from accord.models.data import END
from accord.models.inference.torch_model import Backward, TorchModel
from accord.zoo import conversions

TEXT = random_sentences(count=12)


def test_backwards_turns_the_words_of_each_sentence_and_twice_is_as_it_was():
    turned = as_lists(TEXT.backwards())
    for sentence, other in zip(as_lists(TEXT), turned, strict=True):
        assert other == [*sentence[:-1][::-1], END]
    assert (TEXT.backwards().backwards().ids == TEXT.ids).all()


def test_a_backward_model_scores_each_word_at_its_position_by_the_words_after_it():
    model = TorchModel(network())
    backward = Backward(model)
    scored, turned = backward.score(TEXT), model.score(TEXT.backwards())
    for start, length in zip(TEXT.starts, TEXT.lengths, strict=True):
        words = slice(start, start + length - 1)
        assert (scored[words] == turned[words][::-1]).all()
        assert scored[start + length - 1] == turned[start + length - 1]
    beside = backward.score_alternatives(TEXT, [3])
    every = backward.log_distributions(TEXT)
    rows = np.arange(len(TEXT.ids))
    assert beside[:, 0] == pytest.approx(every[rows, TEXT.ids], abs=1e-5)
    assert beside[:, 1] == pytest.approx(every[:, 3], abs=1e-5)


@pytest.mark.parametrize("at_once", [1, 20, 512])
def test_both_directions_are_multiplied_and_divided_by_the_prior(at_once, monkeypatch):
    monkeypatch.setattr(conversions, "AT_ONCE", at_once)
    forward, other = network(), network()
    for weight in other.parameters():
        weight.data.normal_(std=0.5)
    forward, backward = TorchModel(forward), Backward(TorchModel(other))
    prior = np.arange(1.0, WORDS + 1)
    prior[4] = 0  # impossible
    found = conversions.pseudo_log_likelihood(forward, backward, TEXT, prior)
    ahead, behind = (np.exp(m.log_distributions(TEXT)) for m in (forward, backward))
    with np.errstate(divide="ignore"):
        both = (ahead * behind) * np.where(prior > 0, prior.sum() / prior, 0)
        p = both / both.sum(axis=1, keepdims=True)
        expected = np.log(p[np.arange(len(TEXT.ids)), TEXT.ids])
    assert found == pytest.approx(expected, rel=1e-6)
