"""Generation: draws follow the distribution they claim, beam search finds what is best."""

from itertools import product

import numpy as np
import pytest
import torch
from log_linear_cases import random_features, random_mass
from scipy.stats import chisquare

from accord.models.background import NGramBackground, Unigram, kneser_ney
from accord.models.constraints import ConstrainedModel, WordAutomaton
from accord.models.data import END, Sentences
from accord.models.inference.generation import Beam, Sampling, beam, sample
from accord.models.inference.interface import InferenceModel
from accord.models.inference.torch_model import FrozenModelBackground, TorchModel
from accord.models.model import LanguageModel
from accord.models.recipe import Recipe

WORDS = 7
LONGEST = 4  # words of a sentence, END included
DRAWS = 800
# Words 1 and 2 only at first, then anything but 3.
AUTOMATON = WordAutomaton(np.array([0, 1, 1, 2, 0, 0, 0]), np.array([[-1, 1, -1], [1, 1, -1]]))


def recipe(**changes) -> Recipe:
    return Recipe(embedding=6, hidden=6, layers=1, device="cpu", **changes)


def trigram(features):
    ids = np.random.default_rng(0).integers(1, WORDS, (40, 5))
    ids[:, -1] = END
    text = Sentences(ids.ravel(), np.full(40, 5))
    return NGramBackground.learn(features, [text], 3, kneser_ney, np.ones_like, folds=0)


def unigram(features):
    return Unigram(features, random_mass(WORDS) + 0.05)


def network(features):
    torch.manual_seed(2)
    below = LanguageModel(recipe(), features, trigram(features)).eval()
    return FrozenModelBackground(features, below)


@pytest.fixture(params=[unigram, trigram, network, "softmax", "constrained"])
def model(request) -> InferenceModel:
    """A small model, sure enough of itself that a mistake would show."""
    features = random_features(WORDS, width=4, seed=3)
    torch.manual_seed(1)
    background = trigram if request.param == "constrained" else request.param
    settings = {"output": "softmax"} if background == "softmax" else {}
    background = unigram if background == "softmax" else background
    model = LanguageModel(recipe(**settings), features, background(features)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)
    model = TorchModel(model)
    return ConstrainedModel(model, AUTOMATON) if request.param == "constrained" else model


def log_p_of(model, texts) -> np.ndarray:
    """log p of each text as scoring has it, word by word from the start of the sentence."""
    ids, lengths = np.concatenate(texts), np.array([len(text) for text in texts])
    return np.add.reduceat(model.score(Sentences(ids, lengths)), lengths.cumsum() - lengths)


def next_distribution(model, start) -> np.ndarray:
    texts = [np.array([*start, word]) for word in range(WORDS)]
    p = np.exp(log_p_of(model, texts))
    return p / p.sum()


def tempered(p, temperature, top_k, top_p) -> np.ndarray:
    """By the definition, on the whole distribution at once."""
    p = p ** (1 / temperature)
    p /= p.sum()
    order = np.argsort(-p)
    p[order[top_k or WORDS :]] = 0
    p /= p.sum()
    if top_p:
        mass = np.cumsum(p[order])
        p[order[int(np.argmax(mass >= top_p - 1e-12)) + 1 :]] = 0
    return p / p.sum()


@pytest.mark.parametrize(
    "sampling",
    [Sampling(), Sampling(0.5), Sampling(2.0), Sampling(1.3, top_k=3), Sampling(top_p=0.6),
     Sampling(1.5, top_k=4, top_p=0.8)],
    ids=repr,
)  # fmt: skip
def test_draws_have_the_frequencies_of_the_distribution(model, sampling):
    start = [1, 2]
    expected = tempered(next_distribution(model, start), *vars(sampling).values())
    generator = np.random.default_rng(0)
    drawn = sample(model, start, DRAWS, sampling, generator, longest=1)
    counts = np.bincount([sentence.words[0] for sentence in drawn], minlength=WORDS)
    possible = expected > 0
    assert counts[~possible].sum() == 0
    assert chisquare(counts[possible], DRAWS * expected[possible]).pvalue > 1e-3


@pytest.mark.slow
def test_whole_sentences_have_the_frequencies_that_scoring_gives_them(model):
    sentences = sample(model, [], DRAWS, Sampling(), np.random.default_rng(1), LONGEST)
    short = [s for s in sentences if s.words[-1] == END and len(s.words) <= 3]
    texts = sorted({tuple(sentence.words) for sentence in short})
    log_p = log_p_of(model, [np.array(text) for text in texts])
    p = dict(zip(texts, np.exp(log_p), strict=True))
    counts = np.array([sum(tuple(s.words) == text for s in short) for text in texts])
    frequent = np.array([DRAWS * p[text] >= 5 for text in texts])
    assert frequent.sum() >= 3
    rest = DRAWS - counts[frequent].sum()
    expected = DRAWS * np.array([p[text] for text in texts])[frequent]
    test = chisquare([*counts[frequent], rest], [*expected, DRAWS - expected.sum()])
    assert test.pvalue > 1e-3
    for sentence in short[:50]:
        assert sum(sentence.log_p) == pytest.approx(np.log(p[tuple(sentence.words)]), abs=1e-4)


def for_length(words):
    """What log p is divided by (Wu et al. 2016)."""
    return (5 + words) / 6


@pytest.mark.parametrize("start", [[], [2, 5]])
def test_a_wide_beam_finds_what_exhaustive_search_finds(model, start):
    others = range(1, WORDS)
    texts = [
        np.array([*start, *words, END])
        for length in range(LONGEST)
        for words in product(others, repeat=length)
    ]
    log_p = log_p_of(model, texts) - (log_p_of(model, [np.array(start)])[0] if start else 0)
    score = log_p / for_length(np.array([len(text) - len(start) for text in texts]))
    best = np.argsort(-score, kind="stable")[:20]
    found = beam(model, start, width=len(others) ** LONGEST, longest=LONGEST)
    assert [sum(s.log_p) for s in found[:20]] == pytest.approx(log_p[best].tolist(), abs=1e-4)
    assert found[0].words == texts[best[0]][len(start) :].tolist()


def test_giving_up_beginnings_loses_nothing(model):
    """A narrow beam finds what it would find if it read every beginning to the last length."""
    narrow = beam(model, [2], 3, longest=8)
    ended = []
    reading = Beam.begin(model, [2], 1)
    for _ in range(8):
        log_p = model.log_prob(reading.h, reading.context)
        for row, of_end in enumerate(log_p[:, END].tolist()):
            if np.isfinite(of_end):
                ended.append([*reading.log_p[row].tolist(), of_end])
        log_p[:, END] = -np.inf
        total = (reading.log_p.sum(axis=1, keepdims=True) + log_p).ravel()
        at = np.argsort(-total)[:3]
        reading = reading.extended(at // WORDS, at % WORDS, log_p.ravel()[at])
    scores = sorted((sum(each) / for_length(len(each)) for each in ended), reverse=True)[:3]
    found = [sum(each.log_p) / for_length(len(each.words)) for each in narrow]
    assert found == pytest.approx(scores, abs=1e-5)


def test_sentences_obey_the_constraint_and_the_same_seed_draws_the_same(model):
    draw = [sample(model, [], 100, Sampling(), np.random.default_rng(5), 8) for _ in range(2)]
    assert draw[0] == draw[1]
    assert all(np.isfinite(sentence.log_p).all() for sentence in draw[0])
    if isinstance(model, ConstrainedModel):
        assert {sentence.words[0] for sentence in draw[0]} <= {1, 2}
        assert all(3 not in sentence.words for sentence in draw[0])
