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

from accord.models.background import Uniform, Unigram
from accord.models.constraints.automata import WordAutomaton
from accord.models.constraints.constrained import Constrained, constrained
from accord.models.data import Sentences
from accord.models.model import LanguageModel
from accord.models.ngram_background import NGramBackground
from accord.models.ngrams import kneser_ney
from accord.models.recipe import Recipe

PLURAL, NOUN = 0, 1
# Determiners les (plural), le; nouns chats, chiens (plural), chat; and a full stop.
WORDS = ["les", "le", "chats", "chiens", "chat", "."]
PHI = [[1, 0], [0, 0], [1, 1], [1, 1], [0, 1], [0, 0]]


def agreement():
    """After a determiner comes a noun that agrees with it, and after a noun the full stop."""
    features = sparse(PHI)
    plural, noun = np.array(PHI).T[[PLURAL, NOUN]]
    group = 2 * noun + plural  # 0 le, 1 les, 2 chat, 3 chats and chiens
    group[WORDS.index(".")] = 4
    forbidden = -1
    follow = [
        [1, 2, forbidden, forbidden, forbidden],  # at first, a determiner
        [forbidden, forbidden, 3, forbidden, forbidden],  # after le
        [forbidden, forbidden, forbidden, 3, forbidden],  # after les
        [forbidden, forbidden, forbidden, forbidden, 0],  # after a noun
    ]
    return features.split_by(group), WordAutomaton(group, np.array(follow))


def before_the_next(layer, texts) -> torch.Tensor:
    """The context of whatever comes after each text."""
    ids = [[*text, 0] for text in texts]
    lengths = np.array([len(words) for words in ids])
    contexts = layer.background.contexts(Sentences(np.concatenate(ids), lengths))
    return torch.from_numpy(contexts[lengths.cumsum() - 1])


def test_it_generates_only_what_the_automaton_allows():
    features, automaton = agreement()
    layer = random_layer(features, Constrained(features, Uniform(features), automaton))
    generator = torch.Generator().manual_seed(0)
    texts = [[] for _ in range(200)]
    for _ in range(3):
        drawn = layer.sample(random_states(200), generator, before_the_next(layer, texts))
        texts = [[*text, word] for text, word in zip(texts, drawn.tolist(), strict=True)]
    sentences = {" ".join(WORDS[word] for word in text) for text in texts}
    assert sentences == {"le chat .", "les chats .", "les chiens ."}


def test_forbidden_words_score_minus_infinity_and_the_others_share_the_mass():
    features, automaton = agreement()
    layer = random_layer(features, Constrained(features, Uniform(features), automaton))
    context = before_the_next(layer, [[WORDS.index("les")]])
    p = layer.log_prob(random_states(1), context).exp().squeeze(0)
    assert p.sum().item() == pytest.approx(1)
    assert (p > 0).tolist() == [False, False, True, True, False, False]
    assert layer.log_prob_of(random_states(1), torch.tensor([4]), context).item() == -torch.inf


def bigram(features):
    table = np.stack([np.roll(random_mass(60), shift) for shift in range(60)])
    return Bigram(features, table)


def trigram(features):
    ids = np.random.default_rng(0).integers(1, 60, (50, 8))
    ids[:, -1] = 0  # the end of each sentence
    text = Sentences(ids.ravel(), np.full(50, 8))
    return NGramBackground.learn(features, [text], 3, kneser_ney, np.ones_like, folds=0)


@pytest.mark.parametrize("made", [lambda f: Unigram(f, random_mass(60)), bigram, trigram])
def test_it_is_the_inner_background_without_the_forbidden_words(made):
    group = np.arange(60) % 3
    features = random_features().split_by(group)
    follow = np.array([[0, 1, -1], [1, -1, 0]])
    inner = made(features)
    layer = random_layer(features, Constrained(features, inner, WordAutomaton(group, follow)))
    texts, states = [[], [9, 3], [3, 1], [1, 5], [4]], [0, 0, 1, 0, 1]
    h, context = random_states(5), before_the_next(layer, texts)
    log_b = inner.log_mass_of(torch.arange(60).expand(5, -1), context[:, :-1])
    log_b = np.where(follow[states][:, group] >= 0, log_b, -np.inf)
    of_word_2 = layer.background.log_mass_of(torch.full((5, 1), 2), context)
    assert of_word_2.squeeze(1).isneginf().tolist() == [True, True, False, True, False]
    expected = by_definition(dense(features), log_b, layer.adaptor(h))
    assert torch.allclose(layer.log_prob(h, context), expected, atol=1e-6)
    best, _ = layer.top(h, 7, context)
    assert torch.allclose(best, expected.sort(dim=1, descending=True)[0][:, :7], atol=1e-6)


def test_it_may_be_added_to_a_trained_layer():
    features = random_features()
    group = np.arange(60) % 2
    trained = random_layer(features, Uniform(features))
    split = features.split_by(group)
    everything = Constrained(split, Uniform(split), WordAutomaton(group, np.array([[0, 0]])))
    constrained = random_layer(split, everything, seed=9)
    constrained.load_state_dict(trained.state_dict())
    h = random_states(3)
    log_prob = constrained.log_prob(h, before_the_next(constrained, [[], [5], [7, 8]]))
    assert torch.allclose(log_prob, trained.log_prob(h), atol=1e-12)


def log_linear(parts: list[str]) -> dict:
    return {"kind": "log-linear", **dict.fromkeys(parts, True)}


@pytest.mark.parametrize("made", [lambda f: Unigram(f, random_mass(60)), trigram])
@pytest.mark.parametrize(
    "parts",
    [
        ["background_gate"],
        ["temperature"],
        ["calibration"],
        ["background_gate", "temperature", "calibration"],
    ],
    ids=" ".join,
)
def test_what_forbids_nothing_changes_no_probability(made, parts):
    """Nor does what it allows twice, though it cuts through signatures."""
    features = random_features()
    recipe = Recipe(embedding=5, hidden=5, layers=1, device="cpu", output=log_linear(parts))
    torch.manual_seed(0)
    model = LanguageModel(recipe, features, made(features)).eval()
    with torch.no_grad():
        for parameter in model.output.parameters():
            parameter.copy_(torch.randn(parameter.shape) if parameter.ndim else torch.tensor(0.7))
    anything = [WordAutomaton(np.arange(60) % groups, np.zeros((1, groups))) for groups in (3, 2)]
    held = constrained(model, features, anything[0])
    twice = constrained(held, features, anything[1])
    text = Sentences(np.arange(60), np.array([20, 40]))
    for free in (held, twice):
        assert np.allclose(free.score(text), model.score(text), atol=1e-5)


def test_a_forbidden_word_leaves_the_state_and_a_sentence_starts_anew():
    automaton = WordAutomaton(np.array([0, 1]), np.array([[1, -1], [1, 0]]))
    sentences = Sentences(np.array([1, 0, 1, 0, 0, 1]), np.array([3, 1, 2]))
    assert automaton.states(sentences).tolist() == [0, 0, 1, 0, 0, 1]


def test_a_state_without_a_way_out_is_refused():
    features = random_features()
    nothing = WordAutomaton(np.zeros(60, int), np.array([[-1]]))
    layer = random_layer(features, Constrained(features, Uniform(features), nothing))
    with pytest.raises(ValueError, match="a word with mass in every state, state 0 allows none"):
        layer.log_prob(random_states(1), before_the_next(layer, [[2]]))


def test_groups_that_cut_through_a_signature_are_refused():
    features = sparse([[1.0], [1.0]])
    automaton = WordAutomaton(np.array([0, 1]), np.array([[0, -1]]))
    with pytest.raises(ValueError, match=r"one group in signature 0, word 0 .*split_by"):
        Constrained(features, Uniform(features), automaton)


@pytest.mark.parametrize(
    ("group", "follow", "message"),
    [
        ([0, 2], [[0, 0]], "group: expected groups from 0 to under 2; got 2 at index 1"),
        ([0, 1], [[0, 1]], r"follow: expected states from -1 to under 1; got 1 at index \(0, 1\)"),
    ],
)
def test_a_bad_automaton_is_refused(group, follow, message):
    with pytest.raises(ValueError, match=message):
        WordAutomaton(np.array(group), np.array(follow))
