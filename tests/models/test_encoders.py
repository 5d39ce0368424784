"""Encoders and ψ: each reads on where it stopped and sees no future; words by their features."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from log_linear_cases import dense, random_features
from torch import nn

from accord.models.background import Uniform
from accord.models.data import Packed, detached, in_a_row
from accord.models.encoder import (
    Encoder,
    FeatureEmbedding,
    RecurrentLayer,
    VariationalDropout,
    in_full_precision,
)
from accord.models.log_linear import LogLinear
from accord.models.model import LanguageModel, encoder
from accord.models.parts import ENCODERS
from accord.models.phi import Features
from accord.models.recipe import Recipe

every_encoder = pytest.mark.parametrize("name", ENCODERS.parts())


def build(choice, **shape):
    torch.manual_seed(0)
    return encoder(choice, **{"inputs": 6, "hidden": 10, "outputs": 8, "layers": 3} | shape)


@every_encoder
def test_a_text_read_in_pieces_is_the_text_read_at_once(name):
    model = build(name).eval()
    inputs = torch.randn(9, 4, 6)
    at_once, last = model(inputs, model.initial_state(4))
    state, pieces = model.initial_state(4), []
    for piece in inputs.split([1, 5, 3]):
        outputs, state = model(piece, state)
        pieces.append(outputs)
    assert at_once.shape == (9, 4, 8)
    assert torch.allclose(torch.cat(pieces), at_once, atol=1e-6)
    for left, right in zip(sum(state, ()), sum(last, ()), strict=True):
        assert torch.allclose(left, right, atol=1e-6)


@every_encoder
def test_the_future_is_not_seen(name):
    model = build(name).eval()
    inputs = torch.randn(6, 2, 6)
    changed = inputs.clone()
    changed[4:] += 1
    before, after = (model(x, model.initial_state(2))[0] for x in (inputs, changed))
    assert torch.equal(before[:4], after[:4])
    assert not torch.allclose(before[4:], after[4:])


@pytest.mark.parametrize("name", ["window", "lstm-window"])
def test_a_window_forgets_what_is_further_back_than_its_order(name):
    model = build({"kind": name, "order": 3}).eval()
    inputs = torch.randn(6, 2, 6)
    changed = inputs.clone()
    changed[1] += 1
    before, after = (model(x, model.initial_state(2))[0] for x in (inputs, changed))
    differs = (before != after).flatten(1).any(dim=1)
    assert differs.tolist() == [False, True, True, True, False, False]


def test_without_a_network_the_last_word_decides_and_its_features_add_up():
    model = build("linear")
    one, other = torch.randn(2, 4, 3, 6)
    read = [model(inputs, model.initial_state(3))[0] for inputs in (one, other, one + other)]
    assert torch.allclose(read[0] + read[1], read[2], atol=1e-6)
    assert torch.allclose(model(one[3:], model.initial_state(3))[0], read[0][3:])


def test_an_lstm_of_windows_is_the_lstm_over_each_of_them():
    strict, plain = build({"kind": "lstm-window", "order": 3}), build("lstm")
    plain.load_state_dict(strict.within.state_dict())
    inputs = torch.randn(6, 2, 6)
    outputs, _ = strict(inputs, strict.initial_state(2))
    for place in range(6):
        window = inputs[max(0, place - 2) : place + 1]
        expected = plain(window, plain.initial_state(2))[0][-1]
        assert torch.allclose(outputs[place], expected, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "module"), [("elman", torch.nn.RNN), ("gru", torch.nn.GRU), ("lstm", torch.nn.LSTM)]
)
def test_a_layer_is_pytorch_s(name, module):
    layer, theirs = RecurrentLayer(name, 5, 7), module(5, 7)
    for mine, value in zip(layer.parameters(), theirs.parameters(), strict=True):
        mine.data.copy_(value)
    inputs = torch.randn(4, 3, 5)
    outputs, _ = layer(inputs, layer.initial_state(3))
    with in_full_precision("cpu"):
        assert torch.equal(outputs, theirs(inputs)[0])


@pytest.mark.parametrize("name", ["elman", "gru", "lstm"])
def test_weight_dropout_drops_recurrent_weights_and_only_in_training(name):
    layer = RecurrentLayer(name, 5, 7, weight_dropout=0.5)
    inputs, state = torch.randn(4, 3, 5), layer.initial_state(3)
    layer.train()
    outputs = [layer(inputs, state)[0] for _ in range(2)]
    assert torch.equal(outputs[0][0], outputs[1][0])  # the first step has no state to weigh
    assert not torch.equal(outputs[0][1:], outputs[1][1:])
    layer.eval()
    assert torch.equal(layer(inputs, state)[0], layer(inputs, state)[0])


@pytest.mark.parametrize("name", [name for name in ENCODERS.parts() if name != "reservoir"])
def test_a_detached_state_carries_no_gradient(name):
    model = build(name)
    inputs = torch.randn(5, 3, 6, requires_grad=True)
    _, state = model(inputs, model.initial_state(3))
    counters = [tensor for tensor in sum(state, ()) if not tensor.requires_grad]
    assert len(counters) == (name == "subsampling"), "only the number of words has no gradient"
    assert not any(tensor.requires_grad for tensor in sum(detached(state), ()))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("name", ["elman", "gru", "irnn", "lstm"])
def test_the_recurrence_stays_in_float32_under_autocast(name, device):
    """cuDNN's would be float16, which no clipping saves once a gradient has left its range."""
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    layer = RecurrentLayer(name, 5, 7).to(device)
    layer.recurrent_weight.data.mul_(2)
    inputs = torch.randn(60, 3, 5, device=device)
    with torch.autocast(device, torch.bfloat16):
        outputs, state = layer(inputs.bfloat16(), layer.initial_state(3))
    assert {outputs.dtype, *(each.dtype for each in state)} == {torch.float32}
    alone, _ = layer(inputs.bfloat16().float(), layer.initial_state(3))
    assert torch.allclose(outputs, alone, rtol=1e-3)


@every_encoder
def test_it_trains_under_autocast(name):
    model = build(name)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        outputs, _ = model(torch.randn(5, 3, 6), model.initial_state(3))
    outputs.float().sum().backward()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    assert trained and all(parameter.grad.isfinite().all() for parameter in trained)


def random_transformer(**settings: int) -> Encoder:
    """Return a Transformer whose layers do something: a new one repeats its inputs."""
    model = build({"kind": "transformer", "head_width": 2, **settings}, layers=2).eval()
    for weight in model.parameters():
        nn.init.normal_(weight, std=0.4)
    return model


def test_packed_texts_are_read_one_by_one():
    model, inputs = random_transformer(), torch.randn(20, 1, 6)
    lengths, room = np.array([5, 1, 14]), (20, 20)
    starts = torch.tensor([0, 5, 6, *room], dtype=torch.int32)
    packed = Packed(torch.from_numpy(in_a_row(0, lengths)), starts, 14)
    texts = inputs.split(lengths.tolist())
    expected = torch.cat([model(text, model.initial_state(1))[0] for text in texts])
    assert torch.allclose(model.read_packed(inputs, packed), expected, atol=1e-5)


def test_a_transformer_forgets_what_is_out_of_reach():
    model = random_transformer(reach=3)
    inputs = torch.randn(9, 2, 6)
    changed = inputs.clone()
    changed[1] += 1
    before, after = (model(x, model.initial_state(2))[0] for x in (inputs, changed))
    differs = (before != after).flatten(1).any(dim=1)
    assert differs.tolist() == [False] + 5 * [True] + 3 * [False]  # two layers reach 2 × 2 back
    state, pieces = model.initial_state(2), []
    for piece in inputs.split([2, 4, 3]):
        outputs, state = model(piece, state)
        pieces.append(outputs)
    assert torch.allclose(torch.cat(pieces), before, atol=1e-5)


def test_an_irnn_starts_as_a_memory():
    """What it has stays as it is while nothing is read, and no gradient fades on the way."""
    model = build("irnn", layers=1, outputs=10)
    state = torch.rand(1, 2, 10, requires_grad=True)
    outputs, _ = model(torch.zeros(50, 2, 6), ((state,),))
    assert torch.allclose(outputs[-1], state[0])
    outputs[-1].sum().backward()
    assert torch.allclose(state.grad, torch.ones_like(state))


def test_a_word_is_the_sum_of_its_features():
    features = random_features()
    embedding = FeatureEmbedding(features, 5).double()
    words = torch.tensor([[3, 59, 0], [7, 7, 1]])
    expected = (torch.from_numpy(dense(features)) @ embedding.weight)[words]
    assert torch.allclose(embedding(words), expected, atol=1e-12)


def test_tied_weights_learn_from_both_sides():
    features = random_features()
    embedding = FeatureEmbedding(features, 5)
    layer = LogLinear(features, Uniform(features), 5, weight=embedding.weight)
    assert layer.weight is embedding.weight
    words = torch.tensor([1, 2, 3])
    layer.loss(embedding(words), words).backward()
    both = layer.weight.grad.clone()
    layer.weight.grad = None
    layer.loss(embedding(words).detach(), words).backward()
    assert not torch.allclose(both, layer.weight.grad)


# Words 0 and 1 have the same features, word 2 has others.
FEATURES = Features(
    np.array([0, 1, 2]), np.array([0, 1]), np.ones(2), np.array([0, 0, 1]), feature_count=2
)


@torch.no_grad()
def read(**choices) -> torch.Tensor:
    recipe = Recipe(embedding=8, hidden=8, layers=1, **choices)
    model = LanguageModel(recipe, FEATURES, Uniform(FEATURES)).eval()
    h, _ = model(torch.tensor([[0, 1, 2]]), model.encoder.initial_state(3))
    assert model.output.log_prob(h[0]).exp().sum(dim=1) == pytest.approx([1, 1, 1])
    return h[0]


def test_words_of_one_signature_are_read_alike_by_features_and_apart_by_words():
    by_features = read()
    assert torch.equal(by_features[0], by_features[1])
    assert not torch.allclose(by_features[0], by_features[2])
    by_words = read(input="words", tied=False)
    assert not torch.allclose(by_words[0], by_words[1])


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def test_variational_dropout_drops_the_same_units_at_every_step():
    dropped = VariationalDropout(0.4)(torch.ones(7, 50, 20))
    assert torch.equal(dropped, dropped[:1].expand_as(dropped))
    assert dropped.unique().tolist() == pytest.approx([0, 1 / 0.6])
    assert (dropped[0] == 0).float().mean().item() == pytest.approx(0.4, abs=0.08)
    assert not torch.equal(dropped[0, 0], dropped[0, 1])


def test_it_may_drop_others_at_each_step():
    dropped = VariationalDropout(0.4, every_step=True)(torch.ones(7, 50, 20))
    assert dropped.unique().tolist() == pytest.approx([0, 1 / 0.6])
    assert (dropped == 0).float().mean().item() == pytest.approx(0.4, abs=0.03)
    assert not any(torch.equal(one, other) for one, other in pairwise(dropped))


def test_feature_dropout_drops_whole_rows():
    embedding = FeatureEmbedding(Features.one_hot(500), 6, dropout=0.3)
    nn.init.ones_(embedding.weight)
    dropped = embedding(torch.arange(500)).detach()
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    assert dropped.unique().tolist() == pytest.approx([0, 1 / 0.7])
    assert (dropped[:, 0] == 0).float().mean().item() == pytest.approx(0.3, abs=0.08)


def test_dropout_does_nothing_outside_training_or_at_rate_zero():
    values = torch.randn(4, 3, 2)
    assert VariationalDropout(0.9).eval()(values) is values
    assert VariationalDropout(0.0)(values) is values
    for embedding in (
        FeatureEmbedding(Features.one_hot(5), 3, dropout=0.9).eval(),
        FeatureEmbedding(Features.one_hot(5), 3, dropout=0.0),
    ):
        assert torch.equal(embedding(torch.arange(5)), embedding.weight)
