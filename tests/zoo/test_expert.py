"""Features that depend on the context: φ(K, x) for the few words that an expert names."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from log_linear_cases import (
    Bigram,
    cases,
    dense,
    random_features,
    random_layer,
    random_mass,
    random_states,
    sparse,
    with_random_weights,
)
from query_cases import distributions
from training_cases import END, WORDS, model, sentences

from accord import load, run
from accord.models.background import Uniform, Unigram
from accord.models.constraints import ConstrainedModel, WordAutomaton
from accord.models.data import NO_WORD, Sentences
from accord.models.inference.torch_model import TorchModel
from accord.models.phi import Features
from accord.pipeline.ask.explain import Explainer, split
from accord.zoo.outputs import EXPERTS, ExpertLogLinear


class Expert:
    """Names words of a context as a function says; the context's last columns are its own."""

    def __init__(self, named, width: int = 4):
        self.named, self.width = named, width

    def contexts(self, sentences):
        return np.full((len(sentences.ids), self.width), NO_WORD)


def expert_layer(features, background, size=5, *, expert, seed=0):
    layer = ExpertLogLinear(features, background, size, expert=expert).to(torch.float64)
    return with_random_weights(layer, seed)


def named_in(context):
    """Every word of the context, with a value that differs from place to place."""
    positions = torch.arange(1, context.shape[1] + 1, dtype=torch.float64)
    return context, (positions - 2.5).expand_as(context)


def feature_values(context, words):
    """The expert's feature as a full matrix (N × V), by the definition: first naming counts."""
    named, values = named_in(context)
    full = torch.zeros(len(context), words, dtype=torch.float64)
    for row in range(len(named)):
        for word, value in reversed(list(zip(named[row].tolist(), values[row], strict=True))):
            if word >= 0:
                full[row, word] = value
    return full


def by_definition_with_expert(layer, phi, log_b, h, context):
    a = layer.adaptor(h)
    expert = a[:, -1:] * feature_values(context, len(phi))
    return (torch.as_tensor(log_b) + a[:, :-1] @ torch.as_tensor(phi).T + expert).log_softmax(1)


@given(cases(), st.data())
def test_scores_are_those_of_the_definition(case, data):
    phi, mass, seed = case
    features = sparse(phi)
    context = torch.tensor(
        data.draw(
            st.lists(
                st.lists(st.integers(-1, len(phi) - 1), min_size=4, max_size=4),
                min_size=3,
                max_size=3,
            )
        )
    )
    layer = expert_layer(features, Unigram(features, mass), expert=Expert(named_in), seed=seed)
    h = random_states(3, seed=seed)
    with np.errstate(divide="ignore"):
        expected = by_definition_with_expert(layer, phi, np.log(mass), h, context)
    log_prob = layer.log_prob(h, context)
    # A word lighter than 1e-16 of the words set apart from its signature is lost in rounding.
    light = torch.from_numpy(mass < 1e-12 * mass.max())
    assert torch.allclose(log_prob[:, ~light], expected[:, ~light], atol=1e-3)
    assert torch.allclose(log_prob.exp(), expected.exp(), atol=1e-10)
    assert not log_prob.isnan().any()
    words = torch.arange(3) % len(phi)
    of_words = layer.log_prob_of(h, words, context)
    assert torch.equal(of_words, log_prob.gather(1, words.unsqueeze(1)).squeeze(1))


@pytest.fixture
def layer_and_inputs():
    features, mass = random_features(), random_mass(60) + 0.01
    context = torch.randint(-1, 60, (8, 4), generator=torch.Generator().manual_seed(2))
    layer = expert_layer(features, Unigram(features, mass), expert=Expert(named_in))
    return features, mass, layer, random_states(8), context


def test_exact_where_no_word_is_negligible(layer_and_inputs):
    features, mass, layer, h, context = layer_and_inputs
    expected = by_definition_with_expert(layer, dense(features), np.log(mass), h, context)
    assert torch.allclose(layer.log_prob(h, context), expected, atol=1e-12)


def test_with_a_background_that_depends_on_the_context(layer_and_inputs):
    features, mass, _, h, context = layer_and_inputs
    context = context.clamp(min=0)
    table = np.stack([np.roll(mass, shift) for shift in range(60)])
    layer = expert_layer(features, Bigram(features, table), expert=Expert(named_in))
    log_b = np.log(table[context[:, -1]])
    expected = by_definition_with_expert(layer, dense(features), log_b, h, context)
    both = torch.cat([context[:, -1:], context], dim=1)  # b's, and behind it the expert's
    assert torch.allclose(layer.log_prob(h, both), expected, atol=1e-12)


def test_the_gradient_is_expected_minus_observed(layer_and_inputs):
    features, _, layer, h, context = layer_and_inputs
    targets = context.clamp(min=0)[:, 1]
    p = layer.log_prob(h, context).exp()
    phi = torch.from_numpy(dense(features))
    of_expert = feature_values(context, 60)
    expected = torch.cat([p @ phi, (p * of_expert).sum(1, keepdim=True)], dim=1)
    observed = torch.cat([phi[targets], of_expert.gather(1, targets.unsqueeze(1))], dim=1)
    on_adaptor = (expected - observed) / 8
    layer.loss(h, targets, context).backward()
    assert torch.allclose(layer.weight.grad, on_adaptor[:, :-1].T @ h, atol=1e-12)
    assert torch.allclose(layer.bias.grad, on_adaptor[:, :-1].sum(0), atol=1e-12)
    assert torch.allclose(layer.expert_weight.grad, on_adaptor[:, -1:].T @ h, atol=1e-12)


@pytest.mark.parametrize(
    ("named", "evidence", "best"),
    [(0, -50.0, [1, 2, 3]), (4, 50.0, [4, 0, 1]), (4, 0.0, [0, 1, 2])],
)
def test_a_named_word_stands_apart_from_its_signature(named, evidence, best):
    features = sparse([[1.0]] * 5)
    layer = expert_layer(
        features,
        Unigram(features, np.array([16.0, 8.0, 4.0, 2.0, 1.0])),
        size=1,
        expert=Expert(lambda context: (context, torch.full(context.shape, evidence)), 1),
    )
    with torch.no_grad():
        layer.expert_weight.fill_(1.0)
    h, context = torch.ones(1, 1, dtype=torch.float64), torch.full((1, 1), named)
    log_prob = layer.log_prob(h, context)
    assert log_prob.topk(3).indices.tolist() == [best]
    likely = set((log_prob[0].exp() > 1e-9).nonzero().flatten().tolist())
    assert likely == {-50.0: {1, 2, 3, 4}, 50.0: {4}, 0.0: {0, 1, 2, 3, 4}}[evidence]


def test_an_expert_that_names_nothing_changes_nothing():
    features = random_features()
    background = Uniform(features)
    plain = random_layer(features, background)
    silent = Expert(lambda context: (context * 0 - 1, context * 1.0), 3)
    silent = ExpertLogLinear(features, background, 5, expert=silent).double()
    silent.load_state_dict(plain.state_dict(), strict=False)
    h, context = random_states(4), torch.zeros(4, 3, dtype=torch.long)
    assert torch.allclose(silent.log_prob(h, context), plain.log_prob(h), atol=1e-12)


TEXT = sentences(20)
COPY = {"kind": "copy", "reach": 3}


def test_copying_names_the_words_of_the_sentence_so_far():
    text = Sentences(np.array([5, 7, 5, 8, 0, 9, 0]), np.array([5, 2]))
    expert = EXPERTS.make(COPY, Features.one_hot(WORDS))
    words, values = expert.named(torch.from_numpy(expert.contexts(text)))
    none = NO_WORD
    assert words.tolist() == [
        [none, none, none], [none, none, 5], [none, 5, 7], [5, 7, 5], [7, 5, 8],
        [none, none, none], [none, none, 9],
    ]  # fmt: skip
    assert (values == 1).all()


def with_expert(weight: float):
    """Two models that differ in nothing but the weight of the expert feature."""
    plain, copying = model().eval(), model(output={"kind": "expert", "expert": COPY}).eval()
    copying.load_state_dict(plain.state_dict(), strict=False)
    h = next(iter(copying.output.expert_weight))
    with torch.no_grad():
        copying.output.expert_weight.copy_(torch.full_like(h, weight))
    return plain, copying


def test_words_said_before_and_they_alone_are_likelier_by_the_expert_s_weight():
    plain, copying = with_expert(0.3)
    before, after = (distributions(each, TEXT) for each in (plain, copying))
    assert torch.allclose(after.exp().sum(dim=1), torch.ones(len(after)).double(), atol=1e-5)
    gain = after - before
    start = 0
    for length in TEXT.lengths:
        for place in range(length):
            said = {*TEXT.ids[start + max(0, place - 3) : start + place].tolist()}
            others = gain[start + place, [word for word in range(WORDS) if word not in said]]
            assert torch.allclose(others, others[0], atol=1e-4)
            named = gain[start + place, sorted(said)] - others[0]
            assert not len(named) or torch.allclose(named, named[0], atol=1e-4)
        start += length


def test_constraints_hold_beside_it_and_scores_stay_a_distribution():
    _, copying = with_expert(1.0)
    group = np.where(np.arange(WORDS) == END, 0, 1 + np.arange(WORDS) % 2)
    held = ConstrainedModel(TorchModel(copying), WordAutomaton(group, np.array([[0, 0, -1]])))
    p = torch.from_numpy(held.log_distributions(TEXT)).exp()
    assert torch.allclose(p.sum(dim=1), torch.ones(len(p)).double(), atol=1e-5)
    assert (p[:, group == 2] == 0).all()


@pytest.mark.slow
def test_what_the_expert_gives_is_a_term_of_the_words_it_names(tmp_path):
    named = ["la", "petite", "fille"]
    changes = {"train.output": "{kind: expert, expert: copy}", "train.epochs": 2}
    chosen = {"models": ["ll-rnn"], "until": "evaluate"}
    made = run("tiny", set=changes, **chosen, runs=tmp_path / "runs")
    explainer = Explainer(load(made.folder, "ll-rnn"))
    asked = ["la", "petite", "fille", "pomme"]
    place = explainer.next_word("La petite fille …", asked, most=20)
    table = split(place.queried)
    given = table.loc["expert"]
    assert given.dropna().index.tolist() == named and given[named].abs().min() > 0
    remainder = table.fillna(0).drop(index="log p").sum() - table.loc["log p"]
    assert remainder.abs().max() < 1e-5
