"""A background that forbids words by state, in scoring and in generation."""

import numpy as np
import pytest
import torch
from log_linear_cases import (
    Bigram,
    by_definition,
    dense,
    random_features,
    random_layer,
    random_mass,
    random_states,
    sparse,
)

from models.background import Uniform, Unigram
from models.constraint import Automaton, Constrained

PLURAL, NOUN = 0, 1
# Determiners les (plural), le; nouns chats, chiens (plural), chat; and a full stop.
WORDS = ["les", "le", "chats", "chiens", "chat", "."]
PHI = [[1, 0], [0, 0], [1, 1], [1, 1], [0, 1], [0, 0]]


def agreement():
    """After a determiner comes a noun that agrees with it, and after a noun the full stop."""
    features = sparse(PHI)
    plural, noun = features.having(PLURAL), features.having(NOUN)
    group = 2 * noun + plural  # 0 le, 1 les, 2 chat, 3 chats and chiens
    group[WORDS.index(".")] = 4
    forbidden = -1
    follow = [
        [1, 2, forbidden, forbidden, forbidden],  # at first, a determiner
        [forbidden, forbidden, 3, forbidden, forbidden],  # after le
        [forbidden, forbidden, forbidden, 3, forbidden],  # after les
        [forbidden, forbidden, forbidden, forbidden, 0],  # after a noun
    ]
    return features.split_by(group), Automaton(group, np.array(follow))


def test_it_generates_only_what_the_automaton_allows():
    features, automaton = agreement()
    layer = random_layer(features, Constrained(features, Uniform(features), automaton))
    generator = torch.Generator().manual_seed(0)
    text = torch.full((200, 1), -1)
    for _ in range(3):
        text = torch.cat([text, layer.sample(random_states(200), generator, text)[:, None]], dim=1)
    sentences = {" ".join(WORDS[word] for word in row[1:]) for row in text.tolist()}
    assert sentences == {"le chat .", "les chats .", "les chiens ."}


def test_forbidden_words_score_minus_infinity_and_the_others_share_the_mass():
    features, automaton = agreement()
    layer = random_layer(features, Constrained(features, Uniform(features), automaton))
    context = torch.tensor([[-1, WORDS.index("les")]])
    p = layer.log_prob(random_states(1), context).exp().squeeze(0)
    assert p.sum().item() == pytest.approx(1)
    assert (p > 0).tolist() == [False, False, True, True, False, False]
    assert layer.log_prob_of(random_states(1), torch.tensor([4]), context).item() == -torch.inf


@pytest.mark.parametrize("depends_on_context", [False, True])
def test_it_is_the_inner_background_without_the_forbidden_words(depends_on_context):
    features, mass = random_features(), random_mass(60)
    group = np.arange(60) % 3
    features = features.split_by(group)
    follow = np.array([[0, 1, -1], [1, -1, 0]])
    table = np.stack([np.roll(mass, shift) for shift in range(60)])
    inner = Bigram(features, table) if depends_on_context else Unigram(features, mass)
    layer = random_layer(features, Constrained(features, inner, Automaton(group, follow)))
    context = torch.tensor([[0, 3], [3, 1], [1, 5], [-1, 4]])
    states = [0, 1, 0, 1]
    h = random_states(4)
    b = table[context[:, -1]] if depends_on_context else np.tile(mass, (4, 1))
    b = np.where(follow[states][:, group] >= 0, b, 0)
    of_word_2 = layer.background.log_mass_of(torch.full((4,), 2), context)
    assert of_word_2.isneginf().tolist() == [True, False, True, False]
    with np.errstate(divide="ignore"):
        expected = by_definition(dense(features), np.log(b), layer.adaptor(h))
    assert torch.allclose(layer.log_prob(h, context), expected, atol=1e-12)
    best, _ = layer.top(h, 7, context)
    assert torch.allclose(best, expected.sort(dim=1, descending=True)[0][:, :7], atol=1e-12)


def test_it_may_be_added_to_a_trained_layer():
    features = random_features()
    group = np.arange(60) % 2
    trained = random_layer(features, Uniform(features))
    split = features.split_by(group)
    everything = Constrained(split, Uniform(split), Automaton(group, np.array([[0, 0]])))
    constrained = random_layer(split, everything, seed=9)
    constrained.load_state_dict(trained.state_dict())
    h = random_states(3)
    log_prob = constrained.log_prob(h, torch.zeros(3, 1, dtype=torch.long))
    assert torch.allclose(log_prob, trained.log_prob(h), atol=1e-12)


def test_a_forbidden_word_and_no_word_leave_the_state():
    automaton = Automaton(np.array([0, 1]), np.array([[1, -1], [1, 0]]))
    context = torch.tensor([[1, 1], [-1, 0], [0, -1], [0, 1]])
    assert automaton.state(context).tolist() == [0, 1, 1, 0]
    assert automaton.state(None).item() == 0


def test_a_state_without_a_way_out_is_refused():
    features = random_features()
    nothing = Automaton(np.zeros(60, int), np.array([[-1]]))
    layer = random_layer(features, Constrained(features, Uniform(features), nothing))
    with pytest.raises(ValueError, match="a word with mass in every state, state 0 allows none"):
        layer.log_prob(random_states(1), torch.tensor([[2]]))


def test_groups_that_cut_through_a_signature_are_refused():
    features = sparse([[1.0], [1.0]])
    automaton = Automaton(np.array([0, 1]), np.array([[0, -1]]))
    with pytest.raises(ValueError, match=r"one group in signature 0, word 0 .*split_by"):
        Constrained(features, Uniform(features), automaton)


@pytest.mark.parametrize(
    ("group", "follow", "message"),
    [
        ([0, 2], [[0, 0]], r"group: expected numbers from 0 to under 2, got 2 at \(1,\)"),
        ([0, 1], [[0, 1]], r"follow: expected numbers from -1 to under 1, got 1 at \(0, 1\)"),
    ],
)
def test_a_bad_automaton_is_refused(group, follow, message):
    with pytest.raises(ValueError, match=message):
        Automaton(np.array(group), np.array(follow))
