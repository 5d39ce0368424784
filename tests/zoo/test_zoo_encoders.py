"""Each encoder of the zoo is what its definition says, and ψ from letters."""

import numpy as np
import pytest
import torch

from accord.models.encoder import RecurrentLayer, embedding
from accord.models.model import encoder
from accord.models.phi import Features
from accord.zoo.encoders import ticked


def build(choice, **shape):
    torch.manual_seed(0)
    return encoder(choice, **{"inputs": 6, "hidden": 10, "outputs": 8, "layers": 3} | shape)


def test_a_bag_of_words_is_their_mean_in_any_order():
    model = build({"kind": "cbow", "order": 3}, layers=1).eval()
    inputs = torch.randn(5, 2, 6)
    outputs, _ = model(inputs, model.initial_state(2))
    for place in range(5):
        bag = inputs[max(0, place - 2) : place + 1].mean(dim=0)
        assert torch.allclose(outputs[place], model.layers[0](bag).tanh(), atol=1e-6)
    mixed, _ = model(inputs[[2, 0, 1, 3, 4]], model.initial_state(2))
    assert torch.allclose(mixed[2], outputs[2], atol=1e-6)


def test_dilated_convolutions_are_pytorch_s_and_see_each_word_of_their_reach():
    model = build({"kind": "dilated", "width": 2}, layers=3, inputs=6, hidden=6, outputs=6).eval()
    inputs = torch.randn(12, 2, 6, requires_grad=True)
    outputs, _ = model(inputs, model.initial_state(2))
    x = inputs
    for number, layer in enumerate(model.layers):
        kernel = layer.map.weight.unflatten(1, (2, 6)).permute(0, 2, 1).flip(2)
        padded = torch.nn.functional.pad(x.permute(1, 2, 0), (2**number, 0))
        read = torch.nn.functional.conv1d(padded, kernel, layer.map.bias, dilation=2**number)
        x = read.tanh().permute(2, 0, 1) + x
    assert torch.allclose(outputs, x, atol=1e-6)
    (seen,) = torch.autograd.grad(outputs[11].sum(), inputs)
    assert (seen != 0).flatten(1).any(dim=1).tolist() == [False] * 4 + [True] * 8


def test_a_subsampling_encoder_reads_windows_of_the_fast_network_at_every_third_word():
    model = build({"kind": "subsampling", "every": 3}, layers=2).eval()
    inputs = torch.randn(8, 2, 6)
    outputs, _ = model(inputs, model.initial_state(2))
    fast, _ = model.fast(inputs, model.fast.initial_state(2))
    (slow,), state = torch.zeros(1, 2, 10), model.slow[0].initial_state(2)
    for place in range(8):
        if place % 3 == 2:
            window = torch.cat([*fast[place - 2 : place + 1]], dim=-1)
            (slow,), state = model.slow[0](window.unsqueeze(0), state)
        expected = model.out(torch.cat([fast[place], slow], dim=-1)).tanh()
        assert torch.allclose(outputs[place], expected, atol=1e-6)


def test_a_mogrifier_without_rounds_is_an_lstm_and_with_rounds_is_its_definition():
    inputs, (h, c) = torch.randn(4, 3, 5), torch.randn(2, 3, 7)
    one = {"inputs": 5, "hidden": 9, "outputs": 7, "layers": 1}
    plain, gated = (build({"kind": "mogrifier", "rounds": rounds}, **one) for rounds in (0, 3))
    layer = RecurrentLayer("lstm", 5, 7)
    for mine, value in zip(layer.parameters(), plain.layers[0].cell.parameters(), strict=True):
        mine.data.copy_(value)
    state = (h.unsqueeze(0), c.unsqueeze(0))
    expected, _ = layer(inputs, state)
    assert torch.allclose(plain(inputs, (state,))[0], expected, atol=1e-6)
    q1, r2, q3 = gated.layers[0].gates
    x1 = 2 * q1(h).sigmoid() * inputs[0]
    h2 = 2 * r2(x1).sigmoid() * h
    x3 = 2 * q3(h2).sigmoid() * x1
    after, _ = gated.layers[0].cell(x3, (h2, c))
    assert torch.allclose(gated(inputs[:1], (state,))[0][0], after, atol=1e-6)


def test_a_reservoir_forgets_how_it_began_and_is_not_trained():
    model = build("reservoir", hidden=60, layers=2).eval()
    for layer in model.layers:
        assert 0.7 < torch.linalg.eigvals(layer.recurrent_weight).abs().max() <= 0.95
    inputs = torch.randn(300, 3, 6, requires_grad=True)
    elsewhere = tuple((torch.rand_like(state),) for (state,) in model.initial_state(3))
    (here, _), (there, _) = (model(inputs, state) for state in (model.initial_state(3), elsewhere))
    assert not torch.allclose(here[0], there[0], atol=1e-3)
    assert torch.allclose(here[-1], there[-1], atol=1e-3)
    here.sum().backward()
    assert inputs.grad is None
    trained = [name for name, weight in model.named_parameters() if weight.grad is not None]
    assert trained == ["readout.weight", "readout.bias"]


def test_the_upper_clock_of_a_hierarchical_encoder_ticks_where_words_end():
    model = build("hierarchical", layers=2).eval()
    inputs = torch.randn(12, 2, 6)
    inputs[..., -1] = 0
    inputs[[2, 6], 0, -1] = 1
    inputs[4, 1, -1] = 1
    shown = []
    model.out.register_forward_pre_hook(lambda module, given: shown.append(given[0][..., 10:]))
    model(inputs, model.initial_state(2))
    moves = (shown[0][1:] != shown[0][:-1]).any(dim=2)
    assert moves[:, 0].nonzero().flatten().tolist() == [1, 5]
    assert moves[:, 1].nonzero().flatten().tolist() == [3]


def test_words_are_steps_of_the_upper_clock_whatever_stands_between_their_ends():
    """Its state depends on the letters by what the fast clock has at the ends alone."""
    model = build("hierarchical", layers=1).eval()
    fast, ends = torch.randn(8, 1, 10), torch.zeros(8, 1, dtype=torch.bool)
    ends[[1, 4, 7]] = True
    state = (model.above[0].initial_state(1),)
    shown, after = ticked(model.above, model.dropout, fast, ends, state)
    words, _ = model.above[0](fast[[1, 4, 7]], state[0])
    assert torch.allclose(shown[[1, 4, 7]], words, atol=1e-6)
    assert torch.allclose(after[0][0], words[2:], atol=1e-6)


def test_jordan_s_network_remembers_nothing_but_what_it_said():
    model = build("jordan", layers=1)
    inputs, said = torch.randn(4, 2, 6), torch.randn(1, 2, 8)
    whole, _ = model(inputs, ((said,),))
    rest, _ = model(inputs[2:], ((whole[1:2],),))
    assert torch.allclose(rest, whole[2:], atol=1e-6)
    other, _ = model(inputs, model.initial_state(2))
    assert not torch.allclose(other[0], whole[0], atol=1e-3)


def test_slow_units_fade_by_alpha_and_no_faster():
    model = build({"kind": "scrn", "alpha": 0.9, "slow": 5}, layers=1)
    inputs = torch.zeros(30, 2, 6)
    inputs[0] = 1
    slow = model.layers[0]._slow(inputs, torch.zeros(1, 2, 5))
    first = 0.1 * model.layers[0].into_slow(inputs[0])
    assert torch.allclose(slow, 0.9 ** torch.arange(30.0).view(-1, 1, 1) * first, atol=1e-6)


def test_the_lower_clock_of_a_hierarchical_encoder_begins_anew_with_each_word():
    model = build("hierarchical").eval()
    letters, ends = torch.randn(9, 2, 5), torch.zeros(9, 2, dtype=torch.bool)
    ends[[2, 3, 7], 0] = True
    ends[5, 1] = True
    before = torch.randn(1, 2, 10)
    fast = model._fast(letters, ends, before)
    for column, words in enumerate(([(0, 3), (3, 4), (4, 8), (8, 9)], [(0, 6), (6, 9)])):
        for begin, end in words:
            state = before[:, column : column + 1] if begin == 0 else torch.zeros(1, 1, 10)
            alone, _ = model.below(letters[begin:end, column : column + 1], (state,))
            assert torch.allclose(fast[begin:end, column], alone[:, 0], atol=1e-6)


# Of four words the first two are written alike, the third has the letters of the first in another
# order, the fourth is longer and begins as the first does.
SPELLED = np.array(
    [[1, 5, 6, 7, 2, 0], [1, 5, 6, 7, 2, 0], [1, 7, 6, 5, 2, 0], [1, 5, 6, 7, 8, 2]], np.uint16
)
FEATURES = Features.one_hot(4)
every_reader = pytest.mark.parametrize("name", ["letters-cnn", "letters-lstm"])


def reader(name, **choices):
    torch.manual_seed(0)
    return embedding(name, FEATURES, **{"psi": SPELLED, "size": 10, "tied": False} | choices)


@every_reader
def test_letters_and_their_order_are_all_that_is_read(name):
    first, second, other, longer = reader(name)(torch.arange(4))
    assert torch.equal(first, second)
    assert not torch.allclose(first, other, atol=1e-3)
    assert not torch.allclose(first, longer, atol=1e-3)


@every_reader
def test_a_word_is_read_the_same_among_any_others(name):
    read = reader(name)
    words = torch.tensor([[3, 0, 2], [2, 2, 1]])
    alone = torch.stack([read(word.view(1))[0] for word in words.flatten()])
    assert torch.allclose(read(words).flatten(0, 1), alone, atol=1e-6)
