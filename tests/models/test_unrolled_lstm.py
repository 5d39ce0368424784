"""The LSTM that is unrolled for recorded steps is PyTorch's."""

import pytest
import torch

from accord.models.encoder import LSTM
from accord.models.gpu import unrolled_lstm, windows

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


def cell(of_inputs, of_state, c):
    """What the kernel of a GPU computes: state, cell, and the gates in the order i, f, g, o."""
    i, f, g, o = (of_inputs + of_state).chunk(4, dim=1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    c = f * c + i * g
    return o * c.tanh(), c, torch.cat([i, f, g, o], dim=1)


def cell_backward(of_h, of_c, before, after, activated, has_bias):
    i, f, g, o = activated.chunk(4, dim=1)
    of_c = of_c + of_h * o * (1 - after.tanh().square())
    of_gates = [
        of_c * g * i * (1 - i),
        of_c * before * f * (1 - f),
        of_c * i * (1 - g.square()),
        of_h * after.tanh() * o * (1 - o),
    ]
    return torch.cat(of_gates, dim=1), of_c * f, None


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])
@pytest.mark.parametrize("size", [8, 12])
@pytest.mark.parametrize("words", [1, 5, 30])
def test_outputs_states_and_gradients_are_those_of_the_fused_kernel(
    device, size, words, monkeypatch
):
    if device == "cpu":
        monkeypatch.setattr(unrolled_lstm, "cell", cell)
        monkeypatch.setattr(unrolled_lstm, "cell_backward", cell_backward)
        monkeypatch.setattr(windows, "unrolls", lambda layer: True)
    torch.manual_seed(0)
    encoder = LSTM(5, size, size, 2, dropout=0.2, weight_dropout=0.5).double().to(device)
    inputs = torch.randn(words, 3, 5, dtype=torch.double, device=device, requires_grad=True)
    shape = 1, 3, size
    state = tuple(tuple(torch.randn(2, *shape).to(inputs).requires_grad_()) for _ in range(2))
    given = [inputs, *(each for layer in state for each in layer), *encoder.parameters()]
    found = []
    for encoder.reader in (windows.read_in_parts, None):
        torch.manual_seed(3)
        outputs, after = encoder(inputs, state)
        states = [each for layer in after for each in layer]
        loss = outputs.square().sum() + sum(each.sin().sum() for each in states)
        found.append([outputs, *states, *torch.autograd.grad(loss, given)])
    torch.testing.assert_close(*found)
