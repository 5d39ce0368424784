"""A network as n-grams, and in both directions."""

import numpy as np
import pytest
import torch
from network_cases import FEATURES, network
from ngram_cases import WORDS, as_lists, random_sentences, rising_prior
from scipy.stats import chisquare

from accord.models.background import NGramBackground, Unigram, kneser_ney
from accord.models.data import END, Sentences
from accord.models.inference import next_word
from accord.models.inference.torch_model import Backward, TorchModel, in_torch
from accord.zoo import conversions
from accord.zoo.conversions import LONGEST, written_text
from accord.zoo.ngrams import own_ngrams

TEXT = random_sentences(count=60)


@pytest.mark.parametrize("at_once", [1, 200, 1 << 20])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_the_probability_of_an_ngram_is_the_networks_mean_where_its_context_stands(
    order, at_once, monkeypatch
):
    monkeypatch.setattr(next_word, "AT_ONCE", at_once)
    model = network()
    found = own_ngrams(in_torch(model), TEXT, order, WORDS)
    p = np.exp(in_torch(model).log_distributions(TEXT))
    asked: dict[tuple, list] = {}
    seen, at = set(), 0
    for sentence in as_lists(TEXT):
        before = [END, *sentence]
        for place, word in enumerate(sentence):
            for length in range(min(order - 1, place + 1) + 1):
                context = tuple(before[place + 1 - length : place + 1])
                asked.setdefault(context, []).append(p[at])
                seen.add((context, word))
            at += 1
    for context, word in seen:
        expected = np.mean([each[word] for each in asked[context]])
        row = [-1] * (order - 1 - len(context)) + [*context]
        nodes = found.nodes(torch.tensor([row], dtype=torch.long))
        assert float(found.p(nodes, torch.tensor([word]))) == pytest.approx(expected, rel=1e-5)
    every = np.random.default_rng(0).integers(0, WORDS, (200, order - 1))
    sums = found.distributions(found.nodes(torch.from_numpy(every)), torch.float64).sum(dim=1)
    assert torch.allclose(sums, torch.ones(200).double(), atol=1e-9)


def test_ngrams_keep_the_probabilities_of_their_highest_order():
    background = NGramBackground.learn(FEATURES, [TEXT], 3, kneser_ney, rising_prior, folds=0)
    found = own_ngrams(in_torch(background), TEXT, 3, WORDS)
    assert found.score(TEXT) == pytest.approx(background.ngrams.score(TEXT), rel=1e-5)


@pytest.mark.slow
def test_text_is_written_as_the_network_would():
    model = network()
    told = []
    text = written_text(in_torch(model), 1500, seed=1, on_words=told.append)
    assert len(text.lengths) == 1500 and sum(told) == len(text.ids) == text.lengths.sum()
    assert (text.ids[np.cumsum(text.lengths) - 1] == END).all()
    assert (text.ids == END).sum() == 1500
    first = np.bincount(text.ids[text.starts], minlength=WORDS)
    start = Sentences(np.array([END]), np.array([1]))
    p = np.exp(in_torch(model).log_distributions(start)[0])
    assert chisquare(first, p / p.sum() * 1500).pvalue > 1e-3


def test_a_sentence_that_goes_on_is_ended():
    model, mass = network(), rising_prior(range(WORDS))
    mass[END] = 1e-12
    model.output.background = Unigram(FEATURES, mass)
    text = written_text(in_torch(model), 20, seed=1)
    assert set(text.lengths) == {LONGEST + 1}
    assert (text.ids[np.cumsum(text.lengths) - 1] == END).all()


FEW = random_sentences(count=12)


def test_backwards_turns_the_words_of_each_sentence_and_twice_is_as_it_was():
    turned = as_lists(FEW.backwards())
    for sentence, other in zip(as_lists(FEW), turned, strict=True):
        assert other == [*sentence[:-1][::-1], END]
    assert (FEW.backwards().backwards().ids == FEW.ids).all()


def test_a_backward_model_scores_each_word_at_its_position_by_the_words_after_it():
    model = TorchModel(network())
    backward = Backward(model)
    scored, turned = backward.score(FEW), model.score(FEW.backwards())
    for start, length in zip(FEW.starts, FEW.lengths, strict=True):
        words = slice(start, start + length - 1)
        assert (scored[words] == turned[words][::-1]).all()
        assert scored[start + length - 1] == turned[start + length - 1]
    beside = backward.score_alternatives(FEW, [3])
    every = backward.log_distributions(FEW)
    rows = np.arange(len(FEW.ids))
    assert beside[:, 0] == pytest.approx(every[rows, FEW.ids], abs=1e-5)
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
    found = conversions.pseudo_log_likelihood(forward, backward, FEW, prior)
    ahead, behind = (np.exp(m.log_distributions(FEW)) for m in (forward, backward))
    with np.errstate(divide="ignore"):
        both = (ahead * behind) * np.where(prior > 0, prior.sum() / prior, 0)
        p = both / both.sum(axis=1, keepdims=True)
        expected = np.log(p[np.arange(len(FEW.ids)), FEW.ids])
    assert found == pytest.approx(expected, rel=1e-6)
