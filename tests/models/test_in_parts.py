"""Layers that read a window part by part compute what they compute one after the other."""

import pytest
import torch

from accord.models.encoder import GRU, LSTM, Recurrent
from accord.models.gpu.windows import read_in_parts


def computed(encoder: Recurrent, inputs: torch.Tensor) -> list[torch.Tensor]:
    """Outputs, states, gradients, and what is drawn next."""
    torch.manual_seed(3)
    encoder.zero_grad()
    inputs = inputs.clone().requires_grad_()
    outputs, after = encoder(inputs, encoder.initial_state(inputs.shape[1]))
    outputs.square().sum().backward()
    gradients = [parameter.grad for parameter in encoder.parameters()]
    return [outputs, *(h for layer in after for h in layer), inputs.grad, *gradients, torch.rand(3)]


@pytest.mark.parametrize("kind", [LSTM, GRU])
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("words", [1, 5, 30])
def test_parts_are_read_as_the_whole(kind, layers, words):
    torch.manual_seed(0)
    encoder = kind(6, 10, 6, layers, dropout=0.2, weight_dropout=0.5)
    inputs = torch.randn(words, 4, 6)
    whole = computed(encoder, inputs)
    encoder.reader = read_in_parts
    torch.testing.assert_close(computed(encoder, inputs), whole, rtol=1e-4, atol=1e-5)
