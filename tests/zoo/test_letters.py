"""ψ from letters: what is written alike is read alike, whatever word it is."""

import numpy as np
import pytest
import torch

from accord.models.encoder import embedding
from accord.models.phi import Features

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


@every_reader
def test_it_trains_under_autocast(name):
    read = reader(name)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        psi = read(torch.arange(4))
    psi.float().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in read.parameters())


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"tied": True}, "cannot be tied"),
        ({"psi": SPELLED[:3]}, "letters of each of 4 words .* got 3"),
    ],
)
def test_what_cannot_be_read_is_refused(choices, message):
    with pytest.raises(ValueError, match=message):
        reader("letters-cnn", **choices)
