"""A network as an automaton of its hidden states: the definition, computed word by word."""

from collections import Counter, defaultdict

import numpy as np
import pytest
import torch
from automaton_cases import Automaton, OpenFst, cost
from network_cases import network
from ngram_cases import WORDS, as_lists, random_sentences
from query_cases import distributions, scored

from accord.models.data import END, Sentences
from accord.zoo import ngrams
from accord.zoo.ngrams import directions, state_automaton, write_wfst

TEXT = random_sentences(count=60)  # in which two words never occur
OTHER = random_sentences(seed=7, count=60, words=WORDS)
FORMS = ["</s>", *(f"mot{number}" for number in range(1, WORDS))]


def rows_of(model, text: Sentences) -> np.ndarray:
    positions, rows = zip(*directions(model, text), strict=True)
    return torch.cat(rows).numpy()[np.argsort(np.concatenate(positions))]


def some_centres(model, count: int) -> np.ndarray:
    rows = rows_of(model, TEXT)
    return rows[np.random.default_rng(0).permutation(len(rows))[:count]]


def nearest(model, text: Sentences, centres: np.ndarray) -> np.ndarray:
    distances = np.linalg.norm(rows_of(model, text)[:, None] - centres, axis=2)
    return distances.argmin(axis=1)


@pytest.fixture(params=[2, 5, 100], autouse=True)
def listed(request, monkeypatch) -> int:
    """Few words or all: a state that lists all of them never fails."""
    monkeypatch.setattr(ngrams, "LISTED", request.param)
    return request.param


@pytest.fixture(params=[1, 4, 12])
def automaton(request):
    model = network()
    return state_automaton(model, TEXT, some_centres(model, request.param), WORDS)


def test_every_state_sums_to_one(automaton):
    every = torch.arange(automaton.states)
    p = automaton.ngrams.distributions([torch.zeros_like(every), every], torch.float64)
    assert p.sum(dim=1).numpy() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("read", [Automaton, OpenFst])
def test_a_sentence_has_one_path_which_weighs_what_the_automaton_says(read, automaton, tmp_path):
    path = tmp_path / "m.fst.txt"
    write_wfst(automaton.automaton, FORMS, path)
    ends = np.cumsum(OTHER.lengths)[:-1]
    expected = [-part.sum() for part in np.split(automaton.score(OTHER), ends)]
    file = read(path)
    found = [cost(file, [FORMS[w] for w in each[:-1]]) for each in as_lists(OTHER)]
    assert found == pytest.approx(expected, rel=1e-5)


def test_it_is_the_networks_mean_in_each_cluster(listed):
    model = network()
    centres = some_centres(model, 6)
    automaton = state_automaton(model, TEXT, centres, WORDS)
    _, before = np.unique(nearest(model, TEXT, centres), return_inverse=True)
    p = distributions(model, TEXT).exp().numpy()
    of_all = p.mean(axis=0)
    for state in range(automaton.states):
        mean = p[before == state].mean(axis=0)
        likeliest = np.argsort(-mean)[:listed]
        rest = np.setdiff1d(np.arange(WORDS), likeliest)
        expected = mean.copy()
        expected[rest] = of_all[rest] * mean[rest].sum() / of_all[rest].sum()
        found = automaton.ngrams.distributions([torch.tensor([0]), torch.tensor([state])])[0]
        assert found.numpy() == pytest.approx(expected, rel=1e-5)


def test_it_goes_where_the_network_mostly_goes(listed):
    model = network()
    centres = some_centres(model, 6)
    automaton = state_automaton(model, TEXT, centres, WORDS)
    used, before = np.unique(nearest(model, TEXT, centres), return_inverse=True)
    assert automaton.start == before[0]
    after, anywhere = defaultdict(Counter), defaultdict(Counter)
    for place in np.flatnonzero(TEXT.ids != END):
        word = int(TEXT.ids[place])
        after[int(before[place]), word][int(before[place + 1])] += 1
        anywhere[word][int(before[place + 1])] += 1
    keys = automaton.ngrams.keys_1.tolist()
    for state in range(automaton.states):
        for word in range(1, WORDS):
            found = int(automaton.after(torch.tensor([state]), torch.tensor([word])))
            is_listed = state * WORDS + word in keys
            times = after[state, word] if is_listed and (state, word) in after else anywhere[word]
            if times:
                assert times[found] == max(times.values())
            else:
                alone = Sentences(np.array([word, END]), np.array([2]))
                assert found == nearest(model, alone, centres[used])[1]


def test_with_a_state_for_each_beginning_it_is_the_network(monkeypatch):
    monkeypatch.setattr(ngrams, "LISTED", WORDS)
    model = network()
    centres = np.unique(rows_of(model, TEXT).round(5), axis=0)
    automaton = state_automaton(model, TEXT, centres, WORDS)
    assert automaton.score(TEXT) == pytest.approx(scored(model, TEXT), rel=1e-4)
