"""n-grams of every history: proper distributions, exact masses, and what each looks back on."""

from functools import partial

import numpy as np
import pytest
import torch
from log_linear_cases import random_features
from ngram_cases import WORDS, as_lists, random_sentences, rising_prior

from accord.models.background import HistoryContext, NGramBackground, kneser_ney, lacking
from accord.models.data import END, Sentences
from accord.models.inference.torch_model import TorchBackground
from accord.models.ngrams import count
from accord.models.parts import HISTORIES, SMOOTHINGS
from accord.zoo.backgrounds import GROUPS, HistoryTree, best_sides, kinds
from accord.zoo.ngrams import witten_bell

FEATURES = random_features(WORDS, width=3, real=False)
TEXT = random_sentences(count=90)
UNSEEN = Sentences(np.append(np.random.default_rng(0).integers(1, WORDS, 59), END), np.array([60]))
CLASSES = np.array([0, 0, 1, 1, 2, 2, 1, 0, 2])  # a word in the class of END, too
FACTORS = {"lemma": np.array([0, 1, 1, 2, 2, 3, 3, 4, 4]), "pos": np.array([0, *[1, 2] * 4])}


def made(history, order=3, smoothing=kneser_ney, folds=4, text=TEXT, factors=FACTORS):
    given = HistoryContext(
        FEATURES, [text], order, smoothing, rising_prior, folds, CLASSES, factors
    )
    return HISTORIES.make(history, given)


def contexts(background, training=False) -> torch.Tensor:
    found = [background.contexts(text, training) for text in (TEXT, UNSEEN)]
    return torch.from_numpy(np.concatenate(found))


@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize("order", [1, 2, pytest.param(4, marks=pytest.mark.slow)])
def test_every_history_sums_to_one_over_words_and_over_signatures(history, smoothing, order):
    background = made(history, order, SMOOTHINGS[smoothing])
    for training in (False, True):
        sums_to_one(background, contexts(background, training))


def sums_to_one(background, context: torch.Tensor) -> None:
    words = torch.arange(WORDS).expand(len(context), -1)
    p = background.log_mass_of(words, context).exp()
    assert torch.allclose(p.sum(dim=1), torch.ones(len(p), dtype=torch.float64), atol=1e-12)
    assert (p > 0).all()
    assert torch.allclose(background.log_mass_of(None, context).exp().double(), p, atol=1e-6)
    sums = torch.zeros(len(p), FEATURES.signature_count, dtype=torch.float64)
    sums.index_add_(1, torch.from_numpy(FEATURES.signature), p)
    assert torch.allclose(background.class_terms(context)[0].double(), sums.log(), atol=3e-6)


@pytest.mark.parametrize("history", HISTORIES)
def test_calibration_knows_the_mass_of_words_before_any_context(history):
    masses = made(history).word_masses()
    assert masses.shape == (WORDS,)
    assert np.array_equal(masses, rising_prior(np.bincount(TEXT.ids, minlength=WORDS)))


@pytest.mark.parametrize("history", HISTORIES)
def test_in_training_a_sentence_asks_the_ngrams_that_lack_its_part(history):
    background = made(history, folds=3)
    context = torch.from_numpy(background.contexts(TEXT, training=True))
    part = np.repeat(np.arange(len(TEXT.lengths)) % 3, TEXT.lengths)
    for number, without in enumerate([*lacking([TEXT], 3)][1:]):
        here = np.flatnonzero(part == number)
        if history == "skip":  # whose weights are of the whole text: only its parts can be told
            inside = zip(background.parts, made(history, folds=0, text=without).parts, strict=True)
            pairs = [(a, b, a.contexts(TEXT, training=True)) for a, b in inside]
        elif history == "forest":  # whose questions are of the whole text, and its counts are not
            learn = partial(NGramBackground.learn, FEATURES, [without], 3, kneser_ney, rising_prior)
            inside = [(a, learn(folds=0, history=a.history)) for a in background.parts]
            pairs = [(a, b, a.contexts(TEXT, training=True)) for a, b in inside]
        else:
            pairs = [(background, made(history, folds=0, text=without), context.numpy())]
        for asked, alone, asked_in in pairs:
            expected = alone.class_terms(torch.from_numpy(alone.contexts(TEXT)[here]))[0]
            assert torch.allclose(asked.class_terms(torch.from_numpy(asked_in[here]))[0], expected)


def test_witten_bell_is_what_its_definition_says():
    model = witten_bell(count(TEXT, 2, WORDS), np.full(WORDS, 1 / WORDS))
    counts = np.zeros((WORDS, WORDS))
    for sentence in as_lists(TEXT):
        np.add.at(counts, ([END, *sentence[:-1]], sentence), 1)
    alone = np.bincount(TEXT.ids, minlength=WORDS)
    kinds_of_words = np.count_nonzero(alone)
    unigram = (alone + kinds_of_words / WORDS) / (alone.sum() + kinds_of_words)
    different = np.count_nonzero(counts, axis=1)[:, None]
    total = counts.sum(axis=1, keepdims=True) + different
    expected = np.where(total, counts + different * unigram, unigram) / np.where(total, total, 1)
    p = model.distributions(model.nodes(torch.arange(WORDS).unsqueeze(1)), torch.float64)
    assert np.allclose(p, expected, rtol=1e-12)


def test_class_ngrams_are_those_of_the_text_in_classes():
    background = made("classes", folds=0)
    of_word = np.array([0, 1, 2, 2, 3, 3, 2, 1, 3])
    mass = rising_prior(range(WORDS))
    in_class = mass / np.bincount(of_word, mass)[of_word]
    in_classes = Sentences(of_word[TEXT.ids], TEXT.lengths)
    of_classes = kneser_ney(count(in_classes, 3, 4), np.full(4, 1 / 4)).score(in_classes)
    expected = of_classes + np.log(in_class[TEXT.ids])
    assert TorchBackground(background).score(TEXT) == pytest.approx(expected, rel=1e-9)


def test_a_factored_model_without_factors_of_its_own_is_the_plain_one():
    """As many factors as words: they say no more than the word."""
    each = {"lemma": np.arange(WORDS), "pos": np.arange(WORDS)}
    same = made("factored", folds=0, smoothing=SMOOTHINGS["add-alpha"], factors=each)
    plain = made("words", folds=0, smoothing=SMOOTHINGS["add-alpha"])
    assert TorchBackground(same).score(TEXT) == pytest.approx(TorchBackground(plain).score(TEXT))


def test_the_weights_of_skip_ngrams_sum_to_one_and_a_start_is_a_kind_by_itself():
    background = made("skip", folds=0)
    assert torch.allclose(background.log_weights.exp().sum(dim=1), torch.ones(6).double())
    kind = kinds(background.parts[0].contexts(TEXT), TEXT)
    assert (kind[TEXT.starts] == 3).all()
    assert not (kind[TEXT.starts[TEXT.lengths > 3] + 3] % 2).any()


def test_a_forest_is_the_mean_of_its_trees_and_backs_off_up_a_tree():
    found = made({"kind": "forest", "trees": 3, "depth": 2}, folds=0)
    context = contexts(found)
    words = torch.arange(WORDS).expand(len(context), -1)
    size = found.parts[0].ngrams.order
    assert size == 1 + 2 + 2, "no history, two questions, two words"
    each = [
        part.log_mass_of(words, context[:, at * size : (at + 1) * size]).exp()
        for at, part in enumerate(found.parts)
    ]
    assert torch.allclose(found.log_mass_of(words, context).exp(), torch.stack(each).mean(dim=0))
    paths = [np.array([*part.history(TEXT)]) for part in found.parts]
    assert all(({*path[:2].ravel()} <= {1, 2}) for path in paths)
    assert not np.array_equal(paths[0][:2], paths[1][:2]), "trees ask different questions"


def test_a_question_sorts_words_by_what_follows_them():
    """Two kinds of words, each before groups of its own: a question tells them apart."""
    generator = np.random.default_rng(0)
    kind = np.arange(20) % 2
    counts = np.zeros((20, GROUPS))
    counts[np.arange(20), kind * 5] = 30
    counts += generator.poisson(0.2, counts.shape)
    sides = best_sides(counts, np.zeros(20, np.int64), generator.integers(2, size=20))
    assert len({*(sides ^ kind)}) == 1
    tree = HistoryTree.grown(TEXT, 2, 3, WORDS, generator)
    assert [len(each) for each in tree.positions] == [1, 2, 4]
    assert [*HistoryTree.grown(TEXT, 0, 3, WORDS, generator).path(TEXT, 0)] == []
