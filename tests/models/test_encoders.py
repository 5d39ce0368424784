"""None"""

import pytest
import torch

from accord.models.data import detached
from accord.models.encoder import RecurrentLayer, in_full_precision
from accord.models.model import encoder
from accord.models.parts import ENCODERS

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


def test_dropout_lies_between_layers():
    single, double = build("lstm", layers=1, dropout=0.5), build("lstm", layers=2, dropout=0.5)
    inputs = torch.randn(5, 3, 6)
    for model, alike in ((single, True), (double, False)):
        first, second = (model(inputs, model.initial_state(3))[0] for _ in range(2))
        assert torch.equal(first, second) == alike


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


def test_a_transformer_forgets_what_is_out_of_reach():
    model = build({"kind": "transformer", "reach": 3}, layers=2).eval()
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
    assert torch.allclose(torch.cat(pieces), before, atol=1e-6)


def test_an_irnn_starts_as_a_memory():
    """What it has stays as it is while nothing is read, and no gradient fades on the way."""
    model = build("irnn", layers=1, outputs=10)
    state = torch.rand(1, 2, 10, requires_grad=True)
    outputs, _ = model(torch.zeros(50, 2, 6), ((state,),))
    assert torch.allclose(outputs[-1], state[0])
    outputs[-1].sum().backward()
    assert torch.allclose(state.grad, torch.ones_like(state))
